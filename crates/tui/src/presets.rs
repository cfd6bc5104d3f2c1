//! Tabs and strip of a new screen.

/// Counterset of a tab, with the counters that fit a terminal.
#[derive(Clone, Copy, Debug)]
pub struct TabPreset {
    /// Title of the tab on the screen, which the option `-c` accepts as a name.
    pub title: &'static str,
    /// Names of countersets with the same meaning; the tab shows the first one that the source has. Logs of Windows
    /// have older ones.
    pub countersets: &'static [&'static str],
    /// Titles and counters of the columns; the rows are sorted by the first one. If there is one instance, all other
    /// counters follow.
    pub columns: &'static [(&'static str, &'static str)],
    /// `true` if the rows are sorted with the least value first.
    pub is_ascending: bool,
}

/// Tabs of a new screen, in the order of the keys 1 to 8.
pub const TABS: [TabPreset; 8] = [
    TabPreset {
        title: "Process",
        countersets: &["Process V2", "Process"],
        columns: &[
            ("%CPU", "% Processor Time"),
            ("USER", "% User Time"),
            ("KERNEL", "% Privileged Time"),
            ("MEM", "Working Set"),
            ("READ/s", "IO Read Bytes/sec"),
            ("WRITE/s", "IO Write Bytes/sec"),
            ("THR", "Thread Count"),
            ("FAULTS/s", "Page Faults/sec"),
            ("PRIV", "Private Bytes"),
        ],
        is_ascending: false,
    },
    TabPreset {
        title: "CGroup",
        countersets: &["CGroup"],
        columns: &[
            ("%CPU", "% Processor Time"),
            ("MEM", "Memory Bytes"),
            ("READ/s", "Storage Read Bytes/sec"),
            ("WRITE/s", "Storage Write Bytes/sec"),
            ("TASKS", "Task Count"),
        ],
        is_ascending: false,
    },
    TabPreset {
        title: "Processor",
        countersets: &["Processor Information", "Processor"],
        columns: &[
            ("%CPU", "% Processor Time"),
            ("USER", "% User Time"),
            ("KERNEL", "% Privileged Time"),
            ("INTR", "% Interrupt Time"),
            ("DPC", "% DPC Time"),
            ("INTR/s", "Interrupts/sec"),
            ("FREQ", "Processor Frequency"),
        ],
        is_ascending: false,
    },
    TabPreset {
        title: "Disk",
        countersets: &["PhysicalDisk", "LogicalDisk"],
        columns: &[
            ("BYTES/s", "Disk Bytes/sec"),
            ("READ/s", "Disk Read Bytes/sec"),
            ("WRITE/s", "Disk Write Bytes/sec"),
            ("OPS/s", "Disk Transfers/sec"),
            ("LATENCY", "Avg. Disk sec/Transfer"),
            ("QUEUE", "Current Disk Queue Length"),
            ("%IDLE", "% Idle Time"),
        ],
        is_ascending: false,
    },
    TabPreset {
        title: "Net",
        countersets: &["Network Interface"],
        columns: &[
            ("BYTES/s", "Bytes Total/sec"),
            ("RECV/s", "Bytes Received/sec"),
            ("SENT/s", "Bytes Sent/sec"),
            ("DROP IN", "Packets Received Discarded"),
            ("ERR IN", "Packets Received Errors"),
            ("PKT IN/s", "Packets Received/sec"),
            ("PKT OUT/s", "Packets Sent/sec"),
        ],
        is_ascending: false,
    },
    TabPreset {
        title: "Memory",
        countersets: &["Memory"],
        columns: &[
            ("Available Bytes", "Available Bytes"),
            ("Committed Bytes", "Committed Bytes"),
            ("% Committed Bytes In Use", "% Committed Bytes In Use"),
            ("Cache Bytes", "Cache Bytes"),
            ("Page Faults/sec", "Page Faults/sec"),
            ("Pages Input/sec", "Pages Input/sec"),
            ("Pages Output/sec", "Pages Output/sec"),
        ],
        is_ascending: false,
    },
    TabPreset {
        title: "Volume",
        countersets: &["LogicalDisk"],
        columns: &[
            ("%FREE", "% Free Space"),
            ("FREE MB", "Free Megabytes"),
            ("BYTES/s", "Disk Bytes/sec"),
            ("OPS/s", "Disk Transfers/sec"),
            ("LATENCY", "Avg. Disk sec/Transfer"),
            ("QUEUE", "Current Disk Queue Length"),
        ],
        is_ascending: true,
    },
    TabPreset {
        title: "Pressure",
        countersets: &["Pressure Stall"],
        columns: &[
            ("%SOME", "% Some Stalled Time"),
            ("%FULL", "% Full Stalled Time"),
            ("SOME 10s", "% Some Stalled Time 10 Seconds"),
            ("SOME 60s", "% Some Stalled Time 60 Seconds"),
            ("SOME 300s", "% Some Stalled Time 300 Seconds"),
            ("FULL 10s", "% Full Stalled Time 10 Seconds"),
        ],
        is_ascending: false,
    },
];

/// Counters of a new strip, each with its label and counter paths. The first three are on every strip, and the others
/// only on strips of tall screens.
pub const STRIP: [(&str, &[&str]); 6] = [
    ("cpu", &[r"\Processor Information(_Total)\% Processor Time", r"\Processor(_Total)\% Processor Time"]),
    ("avail", &[r"\Memory\Available Bytes", r"\Memory\Available MBytes"]),
    ("disk", &[r"\PhysicalDisk(_Total)\Disk Bytes/sec", r"\LogicalDisk(_Total)\Disk Bytes/sec"]),
    ("queue", &[r"\System\Processor Queue Length"]),
    ("pages in", &[r"\Memory\Pages Input/sec"]),
    ("tcp resends", &[r"\TCPv4\Segments Retransmitted/sec"]),
];
