//! Plan of a generated host: its role, its version, and what happens to it.

/// Role of a generated host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostRole {
    /// Role of a host with web servers: many busy processes.
    Web,
    /// Role of a host with a database: much memory, and work of disks.
    Database,
    /// Role of a host with batch jobs: short processes.
    Batch,
}

impl HostRole {
    /// Returns the name of the host's role.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Web => "web",
            Self::Database => "db",
            Self::Batch => "batch",
        }
    }
}

/// Plan of a generated host, which follows from its number and the seed of the fleet.
#[derive(Clone, Copy, Debug)]
pub struct HostPlan {
    /// Number of the generated host in the fleet, from 0.
    pub number: u64,
    /// Seed from which all hosts of the fleet are generated.
    pub seed: u64,
}

impl HostPlan {
    /// Returns the name of the generated host: its role and its number.
    #[must_use]
    pub fn name(self) -> String {
        format!("{}{:04}", self.role().name(), self.number)
    }

    /// Returns the role of the generated host.
    #[must_use]
    pub fn role(self) -> HostRole {
        match self.number % 3 {
            0 => HostRole::Web,
            1 => HostRole::Database,
            _ => HostRole::Batch,
        }
    }

    /// Returns the version of the application `shop`, which each host runs. Version 2.0 loses memory and needs more
    /// processor time.
    #[must_use]
    pub fn version(self) -> &'static str {
        if self.is_new_version() { "v2.0" } else { "v1.9" }
    }

    pub(crate) fn is_new_version(self) -> bool {
        self.number / 3 % 2 == 1
    }

    /// Returns `true` if the host is much busier than others of its role.
    #[must_use]
    pub fn is_hot(self) -> bool {
        self.number % 17 == 6
    }

    /// Returns `true` if the host is started again in the middle of its recording.
    #[must_use]
    pub fn reboots(self) -> bool {
        self.number % 10 == 3
    }

    /// Returns `true` if the host's recorder is started again after five minutes without it.
    #[must_use]
    pub fn has_gap(self) -> bool {
        self.number % 10 == 5
    }

    /// Returns `true` if the host's wall clock is set back by three seconds.
    #[must_use]
    pub fn has_clock_step(self) -> bool {
        self.number % 10 == 7
    }

    /// Returns `true` if the host's disks respond too late for three samples.
    #[must_use]
    pub fn has_late_disks(self) -> bool {
        self.number % 10 == 9
    }

    /// Returns `true` if the host is a virtual machine, which has no idle states and no frequencies.
    #[must_use]
    pub fn is_virtual(self) -> bool {
        self.number % 4 == 1
    }

    /// Returns `true` if the host's recorder is not root: files and I/O of other users' processes are refused.
    #[must_use]
    pub fn is_refused(self) -> bool {
        self.number % 2 == 1
    }
}
