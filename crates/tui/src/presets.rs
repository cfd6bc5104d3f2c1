//! Tabs and strip of a new screen.

/// Counterset of a tab, with the counters that fit a terminal.
#[derive(Clone, Copy, Debug)]
pub struct TabPreset {
    /// Title on the screen, and name of the option `-c`.
    pub title: &'static str,
    /// Countersets that have the same meaning; the first one that the source has is shown. Logs of Windows have older
    /// ones.
    pub countersets: &'static [&'static str],
    /// Counters with their titles, the first one decides about the order.
    pub columns: &'static [(&'static str, &'static str)],
}

/// Tabs, by the keys 1 to 6.
pub const TABS: [TabPreset; 6] = [
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
    },
    TabPreset {
        title: "Network",
        countersets: &["Network Interface"],
        columns: &[
            ("BYTES/s", "Bytes Total/sec"),
            ("RECV/s", "Bytes Received/sec"),
            ("SENT/s", "Bytes Sent/sec"),
            ("PKT IN/s", "Packets Received/sec"),
            ("PKT OUT/s", "Packets Sent/sec"),
            ("DROP IN", "Packets Received Discarded"),
            ("ERR IN", "Packets Received Errors"),
        ],
    },
    TabPreset { title: "Memory", countersets: &["Memory"], columns: &[] },
];

/// Counters of the strip, each with its label.
pub const STRIP: [(&str, &[&str]); 3] = [
    ("cpu", &[r"\Processor Information(_Total)\% Processor Time", r"\Processor(_Total)\% Processor Time"]),
    ("avail", &[r"\Memory\Available Bytes", r"\Memory\Available MBytes"]),
    ("disk", &[r"\PhysicalDisk(_Total)\Disk Bytes/sec", r"\LogicalDisk(_Total)\Disk Bytes/sec"]),
];
