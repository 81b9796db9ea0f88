"""Profiles against numerical derivatives and integrals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import mean_shift as twin

from linkshift.profiles import Profile, get_profile

PROFILES = [
    Profile("flat"),
    Profile("epanechnikov"),
    Profile("gaussian"),
    Profile("truncated_gaussian"),
    Profile("truncated_gaussian", reach=0.3),
    Profile("truncated_gaussian", reach=2.5),
]
every_profile = pytest.mark.parametrize("profile", PROFILES, ids=repr)


def _end(profile):
    return min(profile.reach, 40.0)


@every_profile
def test_weight_and_shadow_are_those_of_the_table(profile):
    u = np.linspace(0.0, 1.2 * _end(profile) ** 2, 301)
    np.testing.assert_allclose(profile.weight(u), twin.weight(profile.name, u, profile.reach))
    np.testing.assert_allclose(
        profile.shadow(u), twin.shadow(profile.name, u, profile.reach), atol=1e-15
    )


@every_profile
def test_weight_is_minus_the_slope_of_the_shadow(profile):
    end = min(_end(profile), 6.0) ** 2
    u = np.linspace(0.01, 0.99, 50) * end
    step = 1e-5 * end
    slope = (profile.shadow(u + step) - profile.shadow(u - step)) / (2 * step)
    np.testing.assert_allclose(profile.weight(u), -slope, rtol=1e-5, atol=1e-8)


@every_profile
def test_log_weight_is_the_logarithm_of_the_weight(profile):
    u = np.linspace(0.0, 1.5 * min(_end(profile), 6.0) ** 2, 100)
    with np.errstate(divide="ignore"):
        expected = np.log(profile.weight(u))
    np.testing.assert_allclose(profile.log_weight(u), expected, atol=1e-14)


def test_log_weight_of_the_gaussian_does_not_underflow():
    assert Profile("gaussian").log_weight(1e6) == -5e5


@every_profile
@pytest.mark.parametrize("d", [1, 2, 3, 8, 20])
def test_log_mass_is_the_integral_of_the_shadow(profile, d):
    expected = np.log(twin.mass(profile.name, d, profile.reach))
    assert profile.log_mass(d) == pytest.approx(expected, abs=1e-6)


@every_profile
@pytest.mark.parametrize("d", [1, 2, 3, 8, 20])
def test_spread_is_the_standard_deviation_per_coordinate(profile, d):
    def g(r):
        return float(profile.weight(r * r))

    variance = twin.over_space(lambda r: g(r) * r * r, d, _end(profile)) / d
    variance /= twin.over_space(g, d, _end(profile))
    assert profile.spread(d) == pytest.approx(np.sqrt(variance), rel=1e-6)


def test_log_mass_of_the_truncated_gaussian_in_many_dimensions():
    # For d -> infinity all mass is near the edge; log P(d/2 + 1, 1/2) by its leading terms.
    d = 1000
    a, x = 0.5 * d + 1.0, 0.5
    log_gamma = twin.gammaln(a + 1.0)
    series = 1.0 + x / (a + 1.0) + x**2 / ((a + 1.0) * (a + 2.0))
    expected = np.log(2.0) + 0.5 * d * np.log(2.0 * np.pi)
    expected += a * np.log(x) - x - log_gamma + np.log(series)
    assert Profile("truncated_gaussian").log_mass(d) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("d", [300, 1000])
def test_spread_of_the_truncated_gaussian_in_many_dimensions(d):
    # Within one bandwidth the weight is nearly flat, up to a tilt of order 1 / d.
    assert Profile("truncated_gaussian").spread(d) == pytest.approx(np.sqrt(1 / (d + 2)), rel=1e-2)


def test_shadow_near_the_edge_is_positive_up_to_the_reach():
    profile = Profile("truncated_gaussian", reach=2.0)
    assert profile.shadow(4.0) == 0.0
    assert profile.shadow(4.0 - 1e-9) > 0.0
    assert profile.shadow(4.1) == 0.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@every_profile
def test_weight_keeps_the_precision(profile, dtype):
    assert profile.weight(np.array([0.0, 0.5], dtype=dtype)).dtype == dtype


def test_reach_is_fixed_by_the_name():
    assert Profile("flat").reach == 1.0
    assert Profile("epanechnikov").squared_reach == 1.0
    assert Profile("gaussian").squared_reach == np.inf
    assert Profile("truncated_gaussian").reach == 1.0
    assert Profile("truncated_gaussian", 3.0).squared_reach == 9.0


@pytest.mark.parametrize("name", ["flat", "epanechnikov", "gaussian"])
def test_another_reach_is_refused_unless_truncated(name):
    with pytest.raises(ValueError, match="truncated_gaussian"):
        Profile(name, reach=2.0)
    assert Profile(name, reach=Profile(name).reach) == Profile(name)


@pytest.mark.parametrize("reach", [0.0, -1.0, np.nan, np.inf])
def test_reach_must_be_a_positive_number(reach):
    with pytest.raises(ValueError, match="reach"):
        Profile("truncated_gaussian", reach=reach)


@pytest.mark.parametrize("name", ["box", "Flat", ""])
def test_unknown_names_are_refused_with_the_choices(name):
    with pytest.raises(ValueError, match="epanechnikov"):
        get_profile(name)


@pytest.mark.parametrize("thing", [None, 3, ["flat"]])
def test_things_that_are_no_profile_are_refused(thing):
    with pytest.raises(TypeError, match="kernel"):
        get_profile(thing)


def test_get_profile_takes_names_and_profiles():
    own = Profile("truncated_gaussian", 2.0)
    assert get_profile(own) is own
    assert get_profile("flat") == Profile("flat")
    assert Profile("flat") != Profile("epanechnikov")


@given(st.floats(0, 1e4), st.floats(0, 1e4))
def test_weight_never_rises(u, v):
    low, high = sorted((u, v))
    for profile in PROFILES:
        assert profile.weight(low) >= profile.weight(high) >= 0.0
        assert profile.shadow(low) >= profile.shadow(high) >= 0.0
