"""The named data sets: their rows, labels, files and authors."""

import dataclasses
import pathlib
from collections.abc import Hashable, Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class RemoteFile:
    """A file as it is published."""

    name: str
    """What the file is called in a folder of data sets."""
    mirrors: tuple[str, ...]
    """Addresses, the best first."""
    n_bytes: int | None = None
    """Size of the download, for display; None if unknown."""
    sha256: str | None = None
    """None if none is published. Rows and columns are counted in any case."""
    other_names: tuple[str, ...] = ()
    """Other names of the same file, for instance without compression."""


@dataclasses.dataclass(frozen=True)
class Target:
    """Coarser classes, instead of those of the data set."""

    class_names: tuple[str, ...]
    groups: tuple[int, ...]
    """The coarser class of each class of the data set, in order."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataSet:
    """A data set: facts only."""

    name: str
    title: str
    summary: str
    home_page: str
    licence: str
    citation: str
    n_rows: int
    feature_names: tuple[str, ...]
    """Columns before categories are turned into numbers. A file with others is refused."""
    class_names: tuple[str, ...]
    """Names of the labels 0, 1, ..."""
    labels: tuple[Hashable, ...] = (0, 1)
    """How the published file writes these labels, in the same order."""
    file: RemoteFile | None = None
    """The published file; None if there is none that can be read here."""
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """How to read the published file."""
    category_values: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    """Columns of texts, or of numbers that may be taken for texts, with all that occur."""
    default_target: str = "class"
    """Meaning of the labels."""
    targets: Mapping[str, Target] = dataclasses.field(default_factory=dict)
    """Alternative labels."""
    drift_positions: tuple[int, ...] = ()
    """Rows with which a new concept begins, where that is known."""
    drawn_from: str | None = None
    """A larger data set from which this one can be drawn at random."""
    by_hand: str = ""
    """How to get it, where no file can be downloaded."""
    notes: tuple[str, ...] = ()
    """Caveats."""

    @property
    def target_names(self) -> tuple[str, ...]:
        """What can be learned; the first by default."""
        return (self.default_target, *self.targets)

    @property
    def checks(self) -> tuple[str, ...]:
        """What is checked when the data set is read."""
        has_checksum = self.file is not None and self.file.sha256 is not None
        of_file = ("sha256 of the download",) if has_checksum else ()
        return (*of_file, "names or number of columns", "labels", "number of rows")

    def directions(self, folder: pathlib.Path) -> str:
        """How to get the data set by hand, and where to put it."""
        if self.file is None:
            arrays = f"put {self.name}.npz, with arrays X, y and feature_names, into {folder}"
            return f"{self.by_hand} If you have the rows, {arrays}"
        return (
            f"download {self.file.mirrors[0]}, and put it as {self.file.name} into {folder} or the "
            "folder that DEVFNN_DATA names"
        )


_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"


def _csv(*names: str, label: str, header: bool = False) -> dict[str, Any]:
    """How a CSV file with these columns is read."""
    return {"format": "csv", "delimiter": ",", "header": header, "names": names, "label": label}


ELECTRICITY = DataSet(
    name="electricity",
    title="Elec2",
    summary="Whether the price of electricity in New South Wales goes up, every half hour.",
    home_page="https://www.openml.org/d/151",
    licence="public (OpenML)",
    citation=(
        "M. Harries: SPLICE-2 Comparative Evaluation: Electricity Pricing. University of New South "
        "Wales, 1999. J. Gama, P. Medas, G. Castillo, P. Rodrigues: Learning with Drift Detection. "
        "SBIA 2004. doi:10.1007/978-3-540-28645-5_29"
    ),
    n_rows=45_312,
    feature_names=(
        *("date", "day", "period", "nswprice", "nswdemand"),
        *("vicprice", "vicdemand", "transfer"),
    ),
    class_names=("DOWN", "UP"),
    labels=("DOWN", "UP"),
    file=RemoteFile(
        name="electricity-normalized.arff",
        mirrors=(
            "https://www.openml.org/data/download/2419/electricity-normalized.arff",
            "https://api.openml.org/data/v1/download/2419/electricity-normalized.arff",
        ),
        n_bytes=3_092_013,
        sha256="2d86fbc74c69a5c04bcde0119bce280dd6d8efa0115987edc75b77ccf024d7f2",
    ),
    options={"format": "arff", "label": "class", "numeric": ("day",)},
    category_values={"day": tuple("1234567")},
    notes=(
        "All features but day, which runs from 1 to 7, were scaled with the whole file in view.",
        "Labels follow each other: the last label is a strong guess.",
        "Rows are in order of time, but date steps back five times.",
    ),
)

_WEATHER_FEATURES = (
    *("temperature", "dew_point", "sea_level_pressure", "visibility"),
    *("wind_speed", "max_wind_speed", "max_temperature", "min_temperature"),
)

WEATHER = DataSet(
    name="weather",
    title="NOAA weather, Bellevue, Nebraska",
    summary="Whether it rains, from the weather of each day, 1949 to 1999.",
    home_page="http://users.rowan.edu/~polikar/research/nse/",
    licence="none stated; measurements of a US agency (NOAA)",
    citation=(
        "R. Elwell, R. Polikar: Incremental Learning of Concept Drift in Nonstationary "
        "Environments. IEEE Trans. Neural Networks 22(10), 2011. doi:10.1109/TNN.2011.2160459. "
        "G. Ditzler, R. Polikar: Incremental Learning of Concept Drift from Streaming Imbalanced "
        "Data. IEEE Trans. Knowledge and Data Engineering 25(10), 2013. doi:10.1109/TKDE.2012.136"
    ),
    n_rows=18_159,
    feature_names=_WEATHER_FEATURES,
    class_names=("no rain", "rain"),
    file=RemoteFile(
        name="weather.csv",
        mirrors=(
            "https://raw.githubusercontent.com/online-ml/river/e6ff8574c85725895d93aa3f9ed09738cb3"
            "a1665/src/skmultiflow/data/datasets/weather.csv",
            "https://raw.githubusercontent.com/scikit-multiflow/streaming-datasets/master/"
            "weather.csv",
        ),
        n_bytes=772_138,
        sha256="3c38f05bdc5c4cb115f122414c66976e3662c875d96d7199d9e47fc46aff150e",
    ),
    options=_csv(*_WEATHER_FEATURES, "target", label="target", header=True),
    notes=(
        "Two pressures, in rows 3596 and 3597 of the file, are above 5000: outliers.",
        "Values that were missing had been filled with the mean of their neighbours.",
    ),
)

_SUSY_FEATURES = (
    *("lepton_1_pT", "lepton_1_eta", "lepton_1_phi"),
    *("lepton_2_pT", "lepton_2_eta", "lepton_2_phi"),
    *("missing_energy_magnitude", "missing_energy_phi", "MET_rel", "axial_MET"),
    *("M_R", "M_TR_2", "R", "MT2", "S_R", "M_Delta_R", "dPhi_r_b", "cos_theta_r1"),
)

SUSY = DataSet(
    name="susy",
    title="SUSY",
    summary="Simulated collisions of particles: supersymmetric ones, or background.",
    home_page="https://archive.ics.uci.edu/dataset/279/susy",
    licence="CC BY 4.0",
    citation=(
        "P. Baldi, P. Sadowski, D. Whiteson: Searching for exotic particles in high-energy physics "
        "with deep learning. Nature Communications 5:4308, 2014. doi:10.1038/ncomms5308. "
        "Data: doi:10.24432/C54606"
    ),
    n_rows=5_000_000,
    feature_names=_SUSY_FEATURES,
    class_names=("background", "signal"),
    file=RemoteFile(
        name="SUSY.csv.gz",
        mirrors=(
            f"{_UCI}/00279/SUSY.csv.gz",
            "https://mlphysics.ics.uci.edu/data/susy/SUSY.csv.gz",
        ),
        other_names=("SUSY.csv",),
    ),
    options=_csv("class", *_SUSY_FEATURES, label="class"),
    notes=(
        "About 0.9 GB to download.",
        "No checksum is published: rows and columns are counted while reading.",
        "The last 500,000 rows are the authors' test set.",
    ),
)

SUSY_30K = dataclasses.replace(
    SUSY,
    name="susy-30k",
    title="SUSY, 30,000 rows",
    summary="A random subset of susy.",
    n_rows=30_000,
    file=None,
    drawn_from="susy",
    by_hand="The rows can be drawn from susy (0.9 GB): get that first, with dataset('susy').",
    notes=(
        "Without susy-30k.npz, rows are drawn from susy with a fixed seed: another subset than the "
        "one in that file, so figures differ within their error.",
    ),
)

_KDD_FEATURES = (
    "duration protocol_type service flag src_bytes dst_bytes land wrong_fragment urgent hot "
    "num_failed_logins logged_in num_compromised root_shell su_attempted num_root "
    "num_file_creations num_shells num_access_files num_outbound_cmds is_host_login "
    "is_guest_login count srv_count serror_rate srv_serror_rate rerror_rate srv_rerror_rate "
    "same_srv_rate diff_srv_rate srv_diff_host_rate dst_host_count dst_host_srv_count "
    "dst_host_same_srv_rate dst_host_diff_srv_rate dst_host_same_src_port_rate "
    "dst_host_srv_diff_host_rate dst_host_serror_rate dst_host_srv_serror_rate "
    "dst_host_rerror_rate dst_host_srv_rerror_rate"
)

_KDD_SERVICES = (
    "IRC X11 Z39_50 auth bgp courier csnet_ns ctf daytime discard domain domain_u echo eco_i ecr_i "
    "efs exec finger ftp ftp_data gopher hostnames http http_443 imap4 iso_tsap klogin kshell ldap "
    "link login mtp name netbios_dgm netbios_ns netbios_ssn netstat nnsp nntp ntp_u other pm_dump "
    "pop_2 pop_3 printer private red_i remote_job rje shell smtp sql_net ssh sunrpc supdup systat "
    "telnet tftp_u tim_i time urh_i urp_i uucp uucp_path vmnet whois"
)

_KDD_FLAGS = "OTH REJ RSTO RSTOS0 RSTR S0 S1 S2 S3 SF SH"

_KDD_FAMILIES = {
    "normal": "normal",
    "dos": "back land neptune pod smurf teardrop",
    "probe": "ipsweep nmap portsweep satan",
    "r2l": "ftp_write guess_passwd imap multihop phf spy warezclient warezmaster",
    "u2r": "buffer_overflow loadmodule perl rootkit",
}

_KDD_FAMILY_OF = {
    f"{attack}.": number
    for number, attacks in enumerate(_KDD_FAMILIES.values())
    for attack in attacks.split()
}

_KDD_LABELS = tuple(sorted(_KDD_FAMILY_OF))  # as the file writes them, with a dot at the end

KDD99 = DataSet(
    name="kdd99",
    title="KDD Cup 1999, 10 %",
    summary="Network connections, normal or one of 22 attacks.",
    home_page="https://kdd.ics.uci.edu/databases/kddcup99/kddcup99.html",
    licence="CC BY 4.0",
    citation=(
        "S. Stolfo, W. Fan, W. Lee, A. Prodromidis, P. Chan: KDD Cup 1999 Data. UCI Machine "
        "Learning Repository, 1999. doi:10.24432/C51C7N"
    ),
    n_rows=494_021,
    feature_names=tuple(_KDD_FEATURES.split()),
    class_names=_KDD_LABELS,
    labels=_KDD_LABELS,
    file=RemoteFile(
        name="kddcup.data_10_percent.gz",
        mirrors=(
            "https://ndownloader.figshare.com/files/5976042",
            f"{_UCI}/kddcup99-mld/kddcup.data_10_percent.gz",
        ),
        sha256="8045aca0d84e70e622d1148d7df782496f6333bf6eb979a1b0837c42a9fd9561",
        other_names=("kddcup.data_10_percent", "kddcup.data_10_percent_corrected"),
    ),
    options=_csv(*_KDD_FEATURES.split(), "labels", label="labels"),
    category_values={
        "protocol_type": ("icmp", "tcp", "udp"),
        "service": tuple(_KDD_SERVICES.split()),
        "flag": tuple(_KDD_FLAGS.split()),
    },
    default_target="attack",
    targets={
        "binary": Target(
            ("normal", "attack"), tuple(int(_KDD_FAMILY_OF[label] > 0) for label in _KDD_LABELS)
        ),
        "family": Target(tuple(_KDD_FAMILIES), tuple(_KDD_FAMILY_OF[each] for each in _KDD_LABELS)),
    },
    notes=(
        "Most chunks of some hundred rows hold a single class.",
        "num_outbound_cmds and is_host_login are constant; src_bytes reaches 6.9e8.",
    ),
)

_COVTYPE_FEATURES = (
    *("Elevation", "Aspect", "Slope", "Horizontal_Distance_To_Hydrology"),
    *("Vertical_Distance_To_Hydrology", "Horizontal_Distance_To_Roadways"),
    *("Hillshade_9am", "Hillshade_Noon", "Hillshade_3pm", "Horizontal_Distance_To_Fire_Points"),
    *(f"Wilderness_Area_{number}" for number in range(4)),
    *(f"Soil_Type_{number}" for number in range(40)),
)

COVTYPE = DataSet(
    name="covtype",
    title="Forest cover type",
    summary="Which trees grow on patches of 30 by 30 metres in Colorado.",
    home_page="https://archive.ics.uci.edu/dataset/31/covertype",
    licence="CC BY 4.0",
    citation=(
        "J. A. Blackard, D. J. Dean: Comparative accuracies of artificial neural networks and "
        "discriminant analysis in predicting forest cover types from cartographic variables. "
        "Computers and Electronics in Agriculture 24(3), 1999. doi:10.1016/S0168-1699(99)00046-0. "
        "Data: doi:10.24432/C50K5N"
    ),
    n_rows=581_012,
    feature_names=_COVTYPE_FEATURES,
    class_names=(
        *("Spruce/Fir", "Lodgepole Pine", "Ponderosa Pine", "Cottonwood/Willow"),
        *("Aspen", "Douglas-fir", "Krummholz"),
    ),
    labels=tuple(range(1, 8)),
    file=RemoteFile(
        name="covtype.data.gz",
        mirrors=(
            "https://ndownloader.figshare.com/files/5976039",
            f"{_UCI}/covtype/covtype.data.gz",
        ),
        sha256="614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771",
        other_names=("covtype.data",),
    ),
    options=_csv(*_COVTYPE_FEATURES, "Cover_Type", label="Cover_Type"),
)

SEA_PAPER = DataSet(
    name="sea-paper",
    title="SEA, the files of the paper",
    summary="Two of three features decide against a threshold that changes abruptly.",
    home_page="http://users.rowan.edu/~polikar/research/nse/",
    licence="none stated",
    citation=(
        "W. N. Street, Y. Kim: A streaming ensemble algorithm (SEA) for large-scale "
        "classification. KDD 2001. doi:10.1145/502512.502568. Files: R. Elwell, R. Polikar, 2011. "
        "doi:10.1109/TNN.2011.2160459"
    ),
    n_rows=100_000,
    feature_names=("f1", "f2", "f3"),
    class_names=("1", "2"),
    drift_positions=tuple(range(12_500, 100_000, 12_500)),
    by_hand=(
        "The authors' files are SEA_training_data.csv, SEA_training_class.csv, "
        "SEA_testing_data.csv and SEA_testing_class.csv of the NSE collection, "
        "http://users.rowan.edu/~polikar/research/nse/: put training, then testing rows into X "
        "and their classes into y. sea() generates such a stream."
    ),
    notes=(
        "Thresholds 8, 9, 7 and 9.5, then the same once more.",
        "Labels of the first half have 10 % noise; those of the second half have none.",
    ),
)

HYPERPLANE_PAPER = DataSet(
    name="hyperplane-paper",
    title="Hyperplane, the file of the paper",
    summary="Two classes on the sides of a hyperplane that turns.",
    home_page="https://github.com/ContinualAL/pENsemblePlus",
    licence="none stated, or not for commercial use, depending on where the file is taken from",
    citation=(
        "G. Hulten, L. Spencer, P. Domingos: Mining time-changing data streams. KDD 2001. "
        "doi:10.1145/502512.502529"
    ),
    n_rows=120_000,
    feature_names=("x1", "x2", "x3", "x4"),
    class_names=("0", "1"),
    by_hand=(
        "The authors' file is pENsemblePlusTrainTest/dataset/Hyperplane_withDrift_120K.mat of "
        "https://github.com/ContinualAL/pENsemblePlus: its first four columns are X, the class is "
        "y. hyperplane() generates such a stream."
    ),
    notes=("About 5 % of the labels are noise.",),
)

_ALL = (ELECTRICITY, WEATHER, SUSY, SUSY_30K, KDD99, COVTYPE, SEA_PAPER, HYPERPLANE_PAPER)

DATA_SETS = {each.name: each for each in _ALL}
"""Data sets by name."""

UNPUBLISHED = {"rfid": "the RFID stream of the paper was never published; rfid() simulates one"}
"""Names that users may look for, and what replaces them."""
