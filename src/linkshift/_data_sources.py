"""The public data sets that `linkshift.datasets` knows: what they are, where they come from."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

__all__ = ["REGISTRY", "DataSource"]


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


_SIPU = "SIPU clustering benchmark page, University of Eastern Finland"
_CMS = "the CMS authors' repository, github.com/m-schier/cms, folder data"
_GNMF_FACES = "Deng Cai's 32x32 face crops (graph-regularised NMF release)"
_MULTI_VIEW = "github.com/cswanghao/gbs, folder Dataset"


def _uci(page: str) -> str:
    return f"UCI Machine Learning Repository, page '{page}'"


def _registry() -> dict[str, DataSource]:
    # fmt: off
    rows: list[tuple[str, str, str, str]] = [
        ("sipu_aggregation", "Gionis, Mannila, Tsaparas 2007", _SIPU, "X (788, 2)"),
        ("sipu_jain", "Jain, Law 2005", _SIPU, "X (373, 2)"),
        ("sipu_compound", "Zahn 1971", _SIPU, "X (399, 2), y_alt1 to y_alt4 (399,)"),
        ("sipu_pathbased", "Chang, Yeung 2008", _SIPU, "X (300, 2), y_alt1 (300,)"),
        ("sipu_spiral", "Chang, Yeung 2008", _SIPU, "X (312, 2)"),
        ("sipu_flame", "Fu, Medico 2007", _SIPU, "X (240, 2), y_alt1 (240,)"),
        ("sipu_r15", "Veenman et al. 2002", _SIPU, "X (600, 2), y_alt1, y_alt2 (600,)"),
        ("sipu_d31", "Veenman et al. 2002", _SIPU, "X (3100, 2)"),
        *(
            (f"sipu_s{i}", "Fränti, Virmajoki 2006 (S-sets)", _SIPU, "X (5000, 2)")
            for i in range(1, 5)
        ),
        *(
            (
                f"cms_dkm-{stem}",
                "Schier, Reinders, Rosenhahn 2022 (deep k-means embedding)",
                _CMS,
                f"X ({n}, 10), label_names (10,)",
            )
            for stem, n in (("mnist", 60000), ("fashion-mnist", 60000), ("gtsrb", 9660))
        ),
        ("uci_wdbc", "Wolberg et al. 1995", _uci("Breast Cancer Wisconsin (Diagnostic)"),
         "X (569, 30)"),
        ("uci_wine", "Aeberhard, Forina 1991", _uci("Wine"), "X (178, 13)"),
        ("uci_iris", "Fisher 1936", _uci("Iris"), "X (150, 4)"),
        ("uci_digits8x8", "Alpaydin, Kaynak 1998",
         _uci("Optical Recognition of Handwritten Digits") + ", test part", "X (1797, 64)"),
        ("uci_vehicle", "Siebert 1987", _uci("Statlog (Vehicle Silhouettes)"),
         "X (846, 18), class_names (4,)"),
        ("uci_segment", "Brodley 1990", _uci("Image Segmentation"),
         "X (2310, 19), class_names (7,)"),
        ("uci_vowel", "Deterding; Robinson 1989",
         _uci("Connectionist Bench (Vowel Recognition - Deterding Data)"),
         "X (990, 10), meta (990, 3)"),
        ("uci_pendigits", "Alpaydin, Alimoglu 1998",
         _uci("Pen-Based Recognition of Handwritten Digits"), "X (10992, 16), class_names (10,)"),
        ("uci_letter", "Slate 1991", _uci("Letter Recognition"),
         "X (20000, 16), class_names (26,)"),
        ("uci_satimage", "Srinivasan 1993", _uci("Statlog (Landsat Satellite)"),
         "X (6435, 36), class_names (6,)"),
        ("uci_optdigits", "Alpaydin, Kaynak 1998",
         _uci("Optical Recognition of Handwritten Digits"), "X (5620, 64), class_names (10,)"),
        ("uci_ecoli", "Nakai, Horton 1996", _uci("Ecoli"), "X (336, 7)"),
        ("uci_ionosphere", "Sigillito et al. 1989", _uci("Ionosphere"), "X (351, 34)"),
        ("uci_glass", "German 1987", _uci("Glass Identification"), "X (214, 9)"),
        ("uci_yeast", "Nakai, Horton 1996", _uci("Yeast"), "X (1484, 8)"),
        ("usps_roweis11000", "Hull 1994",
         "Sam Roweis's 'usps_all' file, 1100 images a digit (columns first)", "X (11000, 256)"),
        ("usps_9298", "Hull 1994; Le Cun et al. 1989", "USPS digits, 7291 + 2007", "X (9298, 256)"),
        ("mv_mfeat_digits", "van Breukelen et al. 1998", _uci("Multiple Features"),
         "X_view1 to X_view6 (2000, 216 | 76 | 64 | 6 | 240 | 47), view_names (6,)"),
        ("mv_msrc_v1", "Winn, Jojic 2005",
         "github.com/xiyu1007/Multi-view-datasets, features of MSRC-v1 images",
         "X_view1 to X_view5 (210, 24 | 576 | 512 | 256 | 254), view_names (5,)"),
        ("mv_100leaves", "Mallah et al. 2013",
         _uci("One-hundred plant species leaves") + f"; as views: {_MULTI_VIEW}",
         "X_view1 to X_view3 (1600, 64), view_names (3,)"),
        ("mv_3sources", "Greene, Cunningham 2009", f"UCD 3sources news; as views: {_MULTI_VIEW}",
         "X_view1 to X_view3 (169, 3560 | 3631 | 3068), view_names (3,)"),
        ("mv_bbcsport", "Greene, Cunningham 2006",
         f"UCD BBCSport in two segments; as views: {_MULTI_VIEW}",
         "X_view1, X_view2 (544, 3183 | 3203), view_names (2,)"),
        ("mv_caltech101_20_recomputed",
         "Fei-Fei, Fergus, Perona 2004; features after Li et al. 2015",
         "Caltech-101 images (CaltechDATA), features recomputed, not the published ones",
         "X_view1 to X_view6 (2386, 48 | 40 | 254 | 1984 | 512 | 928), view_names (6,), "
         "class_names (20,)"),
        ("mv_caltech101_7_index", "Fei-Fei, Fergus, Perona 2004; features after Li et al. 2015",
         "seven classes of mv_caltech101_20_recomputed, whose file is needed too",
         "rows (1474,), class_names (7,)"),
        *(
            (f"face_{stem}", citation, _GNMF_FACES, f"X ({n}, 1024){more}")
            for stem, citation, n, more in (
                ("pie_pose27", "Sim, Baker, Bsat 2003 (CMU PIE)", 2856, ", light (2856,)"),
                ("pie_5pose_10subj", "Sim, Baker, Bsat 2003 (CMU PIE)", 1700, ""),
                ("yaleb_32", "Georghiades et al. 2001; Lee et al. 2005", 2414, ""),
                ("yale_32", "Belhumeur et al. 1997", 165, ""),
            )
        ),
        ("face_orl_32", "Samaria, Harter 1994", "AT&T (ORL) faces, 32x32", "X (400, 1024)"),
        ("face_umist_32", "Graham, Allinson 1998", "UMIST faces, 32x32", "X (575, 1024)"),
        ("coil20_32", "Nene, Nayar, Murase 1996", "Columbia COIL-20, 32x32", "X (1440, 1024)"),
        ("mnist_t10k", "LeCun, Cortes, Burges 1998", "MNIST, test images", "X (10000, 784)"),
        ("fashion_mnist_t10k", "Xiao, Rasul, Vollgraf 2017", "Fashion-MNIST, test images",
         "X (10000, 784)"),
    ]
    # fmt: on
    return {
        name: DataSource(citation, origin, f"{arrays}, y (samples,)")
        for name, citation, origin, arrays in rows
    }


#: Every name that `load` knows.
REGISTRY = MappingProxyType(_registry())
