"""The public data sets that `linkshift.datasets` knows: what they are, where they come from."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

__all__ = ["REGISTRY", "DataSource", "TableSource"]


@dataclass(frozen=True)
class DataSource:
    """Where a named set comes from and how its file is laid out.

    Attributes
    ----------
    citation : str
        Who to cite.
    origin : str
        Where the public can get the data.
    arrays : str
        The arrays that ``<name>.npz`` holds.
    """

    citation: str
    origin: str
    arrays: str


@dataclass(frozen=True)
class TableSource(DataSource):
    """A named set of samples with features and classes, whether its file is here or not.

    Attributes
    ----------
    n_samples : int
    widths : tuple of int
        Number of features, of each view for a multi-view set.
    n_classes : int
    """

    n_samples: int
    widths: tuple[int, ...]
    n_classes: int

    @property
    def n_features(self) -> int:
        """Number of features of all views together."""
        return sum(self.widths)


_SIPU = "SIPU clustering benchmark page, University of Eastern Finland"
_CMS = "the CMS authors' repository, github.com/m-schier/cms, folder data"
_GNMF_FACES = "Deng Cai's 32x32 face crops (graph-regularised NMF release)"
_MULTI_VIEW = "github.com/cswanghao/gbs, folder Dataset"


def _uci(page: str) -> str:
    return f"UCI Machine Learning Repository, page '{page}'"


# Samples; features, of each view where there are several; classes.
_Size = tuple[int, int | tuple[int, ...], int]


def _registry() -> dict[str, TableSource]:
    caltech = (48, 40, 254, 1984, 512, 928)
    # fmt: off
    rows: list[tuple[str, str, str, _Size, str]] = [
        ("sipu_aggregation", "Gionis, Mannila, Tsaparas 2007", _SIPU, (788, 2, 7), ""),
        ("sipu_jain", "Jain, Law 2005", _SIPU, (373, 2, 2), ""),
        ("sipu_compound", "Zahn 1971", _SIPU, (399, 2, 6), "y_alt1 to y_alt4 (399,)"),
        ("sipu_pathbased", "Chang, Yeung 2008", _SIPU, (300, 2, 3), "y_alt1 (300,)"),
        ("sipu_spiral", "Chang, Yeung 2008", _SIPU, (312, 2, 3), ""),
        ("sipu_flame", "Fu, Medico 2007", _SIPU, (240, 2, 2), "y_alt1 (240,)"),
        ("sipu_r15", "Veenman et al. 2002", _SIPU, (600, 2, 15), "y_alt1, y_alt2 (600,)"),
        ("sipu_d31", "Veenman et al. 2002", _SIPU, (3100, 2, 31), ""),
        *(
            (f"sipu_s{i}", "Fränti, Virmajoki 2006 (S-sets)", _SIPU, (5000, 2, 15), "")
            for i in range(1, 5)
        ),
        *(
            (
                f"cms_dkm-{stem}",
                "Schier, Reinders, Rosenhahn 2022 (deep k-means embedding)",
                _CMS,
                (n, 10, 10),
                "label_names (10,)",
            )
            for stem, n in (("mnist", 60000), ("fashion-mnist", 60000), ("gtsrb", 9660))
        ),
        ("uci_wdbc", "Wolberg et al. 1995", _uci("Breast Cancer Wisconsin (Diagnostic)"),
         (569, 30, 2), ""),
        ("uci_wine", "Aeberhard, Forina 1991", _uci("Wine"), (178, 13, 3), ""),
        ("uci_iris", "Fisher 1936", _uci("Iris"), (150, 4, 3), ""),
        ("uci_digits8x8", "Alpaydin, Kaynak 1998",
         _uci("Optical Recognition of Handwritten Digits") + ", test part", (1797, 64, 10), ""),
        ("uci_vehicle", "Siebert 1987", _uci("Statlog (Vehicle Silhouettes)"),
         (846, 18, 4), "class_names (4,)"),
        ("uci_segment", "Brodley 1990", _uci("Image Segmentation"),
         (2310, 19, 7), "class_names (7,)"),
        ("uci_vowel", "Deterding; Robinson 1989",
         _uci("Connectionist Bench (Vowel Recognition - Deterding Data)"),
         (990, 10, 11), "meta (990, 3)"),
        ("uci_pendigits", "Alpaydin, Alimoglu 1998",
         _uci("Pen-Based Recognition of Handwritten Digits"), (10992, 16, 10),
         "class_names (10,)"),
        ("uci_letter", "Slate 1991", _uci("Letter Recognition"),
         (20000, 16, 26), "class_names (26,)"),
        ("uci_satimage", "Srinivasan 1993", _uci("Statlog (Landsat Satellite)"),
         (6435, 36, 6), "class_names (6,)"),
        ("uci_optdigits", "Alpaydin, Kaynak 1998",
         _uci("Optical Recognition of Handwritten Digits"), (5620, 64, 10), "class_names (10,)"),
        ("uci_ecoli", "Nakai, Horton 1996", _uci("Ecoli"), (336, 7, 8), ""),
        ("uci_ionosphere", "Sigillito et al. 1989", _uci("Ionosphere"), (351, 34, 2), ""),
        ("uci_glass", "German 1987", _uci("Glass Identification"), (214, 9, 6), ""),
        ("uci_yeast", "Nakai, Horton 1996", _uci("Yeast"), (1484, 8, 10), ""),
        ("usps_roweis11000", "Hull 1994",
         "Sam Roweis's 'usps_all' file, 1100 images a digit (columns first)",
         (11000, 256, 10), ""),
        ("usps_9298", "Hull 1994; Le Cun et al. 1989", "USPS digits, 7291 + 2007",
         (9298, 256, 10), ""),
        ("mv_mfeat_digits", "van Breukelen et al. 1998", _uci("Multiple Features"),
         (2000, (216, 76, 64, 6, 240, 47), 10), "view_names (6,)"),
        ("mv_msrc_v1", "Winn, Jojic 2005",
         "github.com/xiyu1007/Multi-view-datasets, features of MSRC-v1 images",
         (210, (24, 576, 512, 256, 254), 7), "view_names (5,)"),
        ("mv_100leaves", "Mallah et al. 2013",
         _uci("One-hundred plant species leaves") + f"; as views: {_MULTI_VIEW}",
         (1600, (64, 64, 64), 100), "view_names (3,)"),
        ("mv_3sources", "Greene, Cunningham 2009", f"UCD 3sources news; as views: {_MULTI_VIEW}",
         (169, (3560, 3631, 3068), 6), "view_names (3,)"),
        ("mv_bbcsport", "Greene, Cunningham 2006",
         f"UCD BBCSport in two segments; as views: {_MULTI_VIEW}",
         (544, (3183, 3203), 5), "view_names (2,)"),
        ("mv_caltech101_20_recomputed",
         "Fei-Fei, Fergus, Perona 2004; features after Li et al. 2015",
         "Caltech-101 images (CaltechDATA), features recomputed, not the published ones",
         (2386, caltech, 20), "view_names (6,), class_names (20,)"),
        ("mv_caltech101_7_index", "Fei-Fei, Fergus, Perona 2004; features after Li et al. 2015",
         "seven classes of mv_caltech101_20_recomputed, whose file is needed too",
         (1474, caltech, 7), "class_names (7,)"),
        *(
            (f"face_{stem}", citation, _GNMF_FACES, (n, 1024, people), more)
            for stem, citation, n, people, more in (
                ("pie_pose27", "Sim, Baker, Bsat 2003 (CMU PIE)", 2856, 68, "light (2856,)"),
                ("pie_5pose_10subj", "Sim, Baker, Bsat 2003 (CMU PIE)", 1700, 10, ""),
                ("yaleb_32", "Georghiades et al. 2001; Lee et al. 2005", 2414, 38, ""),
                ("yale_32", "Belhumeur et al. 1997", 165, 15, ""),
            )
        ),
        ("face_orl_32", "Samaria, Harter 1994", "AT&T (ORL) faces, 32x32", (400, 1024, 40), ""),
        ("face_umist_32", "Graham, Allinson 1998", "UMIST faces, 32x32", (575, 1024, 20), ""),
        ("coil20_32", "Nene, Nayar, Murase 1996", "Columbia COIL-20, 32x32",
         (1440, 1024, 20), ""),
        ("mnist_t10k", "LeCun, Cortes, Burges 1998", "MNIST, test images", (10000, 784, 10), ""),
        ("fashion_mnist_t10k", "Xiao, Rasul, Vollgraf 2017", "Fashion-MNIST, test images",
         (10000, 784, 10), ""),
    ]
    # fmt: on
    return {row[0]: _source(*row) for row in rows}


def _source(name: str, citation: str, origin: str, size: _Size, more: str) -> TableSource:
    n, width, n_classes = size
    widths = width if isinstance(width, tuple) else (width,)
    if name == "mv_caltech101_7_index":
        features = f"rows ({n},)"  # of the larger set, which has the features
    elif len(widths) > 1:
        features = f"X_view1 to X_view{len(widths)} ({n}, {' | '.join(map(str, widths))})"
    else:
        features = f"X ({n}, {width})"
    arrays = ", ".join(part for part in (features, more, "y (samples,)") if part)
    return TableSource(citation, origin, arrays, n, widths, n_classes)


#: Every name that `load` knows.
REGISTRY = MappingProxyType(_registry())
