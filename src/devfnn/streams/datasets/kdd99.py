"""KDD Cup 1999, the 10 % file: its columns, texts and labels."""

from devfnn.streams.datasets.description import DataSet, Mirror, RemoteFile, Target

FEATURES = (
    "duration protocol_type service flag src_bytes dst_bytes land wrong_fragment urgent hot "
    "num_failed_logins logged_in num_compromised root_shell su_attempted num_root "
    "num_file_creations num_shells num_access_files num_outbound_cmds is_host_login "
    "is_guest_login count srv_count serror_rate srv_serror_rate rerror_rate srv_rerror_rate "
    "same_srv_rate diff_srv_rate srv_diff_host_rate dst_host_count dst_host_srv_count "
    "dst_host_same_srv_rate dst_host_diff_srv_rate dst_host_same_src_port_rate "
    "dst_host_srv_diff_host_rate dst_host_serror_rate dst_host_srv_serror_rate "
    "dst_host_rerror_rate dst_host_srv_rerror_rate"
)

SERVICES = (
    "IRC X11 Z39_50 auth bgp courier csnet_ns ctf daytime discard domain domain_u echo eco_i ecr_i "
    "efs exec finger ftp ftp_data gopher hostnames http http_443 imap4 iso_tsap klogin kshell ldap "
    "link login mtp name netbios_dgm netbios_ns netbios_ssn netstat nnsp nntp ntp_u other pm_dump "
    "pop_2 pop_3 printer private red_i remote_job rje shell smtp sql_net ssh sunrpc supdup systat "
    "telnet tftp_u tim_i time urh_i urp_i uucp uucp_path vmnet whois"
)

FLAGS = "OTH REJ RSTO RSTOS0 RSTR S0 S1 S2 S3 SF SH"

FAMILIES = {
    "normal": "normal",
    "dos": "back land neptune pod smurf teardrop",
    "probe": "ipsweep nmap portsweep satan",
    "r2l": "ftp_write guess_passwd imap multihop phf spy warezclient warezmaster",
    "u2r": "buffer_overflow loadmodule perl rootkit",
}

_FAMILY_OF = {
    f"{attack}.": number
    for number, attacks in enumerate(FAMILIES.values())
    for attack in attacks.split()
}

LABELS = tuple(sorted(_FAMILY_OF))
"""As the file writes them: with a dot at the end."""

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
    feature_names=tuple(FEATURES.split()),
    class_names=LABELS,
    labels=LABELS,
    file=RemoteFile(
        name="kddcup.data_10_percent.gz",
        mirrors=(
            Mirror("https://ndownloader.figshare.com/files/5976042"),
            Mirror(
                "https://archive.ics.uci.edu/ml/machine-learning-databases/kddcup99-mld/"
                "kddcup.data_10_percent.gz"
            ),
        ),
        sha256="8045aca0d84e70e622d1148d7df782496f6333bf6eb979a1b0837c42a9fd9561",
        other_names=("kddcup.data_10_percent", "kddcup.data_10_percent_corrected"),
    ),
    options={
        "format": "csv",
        "delimiter": ",",
        "header": False,
        "names": (*FEATURES.split(), "labels"),
        "label": "labels",
    },
    category_values={
        "protocol_type": ("icmp", "tcp", "udp"),
        "service": tuple(SERVICES.split()),
        "flag": tuple(FLAGS.split()),
    },
    default_target="attack",
    targets={
        "binary": Target(
            ("normal", "attack"), tuple(int(_FAMILY_OF[label] > 0) for label in LABELS)
        ),
        "family": Target(tuple(FAMILIES), tuple(_FAMILY_OF[label] for label in LABELS)),
    },
    notes=(
        "Most chunks of some hundred rows hold a single class.",
        "num_outbound_cmds and is_host_login are constant; src_bytes reaches 6.9e8.",
    ),
)
