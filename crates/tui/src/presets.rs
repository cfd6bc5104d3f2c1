//! Counters on the chart strip of a new screen, which is above the table.

/// Counters on the chart strip of a new screen, each with its label and counter paths. The first three are on every
/// strip, and the others only on strips of tall screens.
pub const STRIP: [(&str, &[&str]); 6] = [
    ("cpu", &[r"\Processor Information(_Total)\% Processor Time", r"\Processor(_Total)\% Processor Time"]),
    ("avail", &[r"\Memory\Available Bytes", r"\Memory\Available MBytes"]),
    ("disk", &[r"\PhysicalDisk(_Total)\Disk Bytes/sec", r"\LogicalDisk(_Total)\Disk Bytes/sec"]),
    ("queue", &[r"\System\Processor Queue Length"]),
    ("pages in", &[r"\Memory\Pages Input/sec"]),
    ("tcp resends", &[r"\TCPv4\Segments Retransmitted/sec"]),
];
