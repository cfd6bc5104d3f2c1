//! Facts about instances as text: information for users other than counters, such as a command line.

use perfset_core::NoValue;

/// Fact about an instance, read when it is shown.
///
/// Facts are no part of an instance's identity, and no collection reads them. The text may come from any user:
/// escape it before it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Kind of the fact, such as a command line.
    pub kind: FactKind,
    /// Text of the fact, or the reason for having none.
    pub text: Result<String, NoValue>,
}

impl Fact {
    /// Creates a fact of a kind, with its text or the reason for having none.
    #[must_use]
    pub fn new(kind: FactKind, text: Result<String, NoValue>) -> Self {
        Self { kind, text }
    }
}

/// Kind of a fact about an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FactKind {
    /// Name of the user that a process runs as, or the user id.
    User,
    /// Command line of a process: its words, separated by blanks. It can contain secrets.
    CommandLine,
    /// Path of the file that a process executes.
    Executable,
    /// Path of the control group of a process.
    Cgroup,
    /// Unit of systemd that a process belongs to, such as `nginx.service`.
    Unit,
    /// Container that a process runs in: its runtime, if known, and the beginning of its id, or its name.
    Container,
    /// UID of the Kubernetes pod that a process runs in.
    Pod,
    /// Model of a disk.
    Model,
    /// Mount points of the file systems on a disk, separated by a comma and a blank.
    MountPoints,
    /// Device that a file system is on, or the source that its mount names.
    Device,
    /// Type of a file system, such as `ext4`.
    FileSystemType,
    /// Speed of a network interface, with its unit.
    Speed,
    /// Kernel driver of a device.
    Driver,
    /// Chip of a sensor, named by its position among the devices: `platform_coretemp_0`.
    Chip,
    /// Name that the kernel gives to a sensor of a chip, such as `temp1`.
    Sensor,
}

impl FactKind {
    /// All kinds of facts, in the order in which they are shown.
    pub const ALL: [Self; 15] = [
        Self::User,
        Self::CommandLine,
        Self::Executable,
        Self::Cgroup,
        Self::Unit,
        Self::Container,
        Self::Pod,
        Self::Model,
        Self::MountPoints,
        Self::Device,
        Self::FileSystemType,
        Self::Speed,
        Self::Driver,
        Self::Chip,
        Self::Sensor,
    ];

    /// Returns the kind of fact with a keyword, if there is one.
    #[must_use]
    pub fn from_keyword(keyword: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.keyword() == keyword)
    }

    /// Returns the keyword of the kind of fact, for programs.
    #[must_use]
    pub const fn keyword(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::CommandLine => "command_line",
            Self::Executable => "executable",
            Self::Cgroup => "cgroup",
            Self::Unit => "unit",
            Self::Container => "container",
            Self::Pod => "pod",
            Self::Model => "model",
            Self::MountPoints => "mount_points",
            Self::Device => "device",
            Self::FileSystemType => "fs_type",
            Self::Speed => "speed",
            Self::Driver => "driver",
            Self::Chip => "chip",
            Self::Sensor => "sensor",
        }
    }
}

/// Options for reading facts about instances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FactOptions {
    /// `true` to read the command lines of the processes of all users. Without it, they are read for root, and for the
    /// processes of the user of this program.
    pub with_command_lines: bool,
}

impl FactOptions {
    /// Sets whether the command lines of the processes of all users are read.
    #[must_use]
    pub fn with_command_lines(self, with_command_lines: bool) -> Self {
        Self { with_command_lines }
    }
}
