"""Images: smoothing that keeps edges."""

from linkshift.image.filtering import ImageModes, mean_shift_filter, mean_shift_modes

__all__ = ["ImageModes", "mean_shift_filter", "mean_shift_modes"]
