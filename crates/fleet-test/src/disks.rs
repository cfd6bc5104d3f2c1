//! Disks and network interfaces of a generated host.

use crate::random::Random;

/// Counts of a generated host's disk since the machine started.
#[derive(Clone, Debug, Default)]
pub struct HostDisk {
    pub name: String,
    /// Usual number of operations of the disk a second.
    pub usual: f64,
    pub reads: u64,
    pub writes: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    /// Time of all reads by the disk, in ms.
    pub read_ms: u64,
    pub write_ms: u64,
    pub busy_ms: u64,
    pub queue: u64,
}

impl HostDisk {
    /// Adds the disk's work of the last `seconds` to the counts.
    pub fn pass(&mut self, seconds: f64, random: &mut Random) {
        if !random.happens(0.9) {
            self.queue = 0;
            return;
        }
        let work = self.usual * seconds * random.between(0.3, 1.7);
        let (reads, writes) = (random.events(work * 0.4), random.events(work * 0.6));
        self.reads += reads;
        self.writes += writes;
        self.read_bytes += reads * 4_096 * (1 + random.below(6));
        self.written_bytes += writes * 4_096 * (1 + random.below(9));
        self.read_ms += (reads as f64 * random.between(0.1, 0.9)) as u64;
        self.write_ms += (writes as f64 * random.between(0.2, 1.6)) as u64;
        let most = (seconds * 1_000.0) as u64;
        self.busy_ms += ((reads + writes) as f64 * random.between(0.1, 0.5)).min(most as f64) as u64;
        self.queue = random.below(3);
    }

    /// Adds the counts of another disk to a sum of disks.
    pub fn add(&mut self, other: &Self) {
        self.reads += other.reads;
        self.writes += other.writes;
        self.read_bytes += other.read_bytes;
        self.written_bytes += other.written_bytes;
        self.read_ms += other.read_ms;
        self.write_ms += other.write_ms;
        self.busy_ms += other.busy_ms;
        self.queue += other.queue;
    }

    /// Returns the raw value of a disk for a counter of PhysicalDisk; `None` if the counter has no source. `count` is
    /// the number of disks in the sum.
    pub fn value(&self, id: u32, count: u64, now_100ns: u64, up_ns: u64) -> Option<u64> {
        const TICKS_OF_MS: u64 = 1_000_000;
        let both_ms = self.read_ms + self.write_ms;
        Some(match id {
            0 => self.queue,
            1 => both_ms * 10_000 / count,
            3 => both_ms * 10_000,
            2 | 5 | 8 | 29 => now_100ns,
            4 => self.read_ms * 10_000 / count,
            6 => self.read_ms * 10_000,
            7 => self.write_ms * 10_000 / count,
            9 => self.write_ms * 10_000,
            10 => both_ms * TICKS_OF_MS,
            12 => self.read_ms * TICKS_OF_MS,
            14 => self.write_ms * TICKS_OF_MS,
            11 | 16 | 23 => self.reads + self.writes,
            13 | 17 | 25 => self.reads,
            15 | 18 | 27 => self.writes,
            19 | 22 => self.read_bytes + self.written_bytes,
            20 | 24 => self.read_bytes,
            21 | 26 => self.written_bytes,
            28 => up_ns / 100 - (self.busy_ms * 10_000 / count).min(up_ns / 100),
            _ => return None,
        })
    }
}

/// Counts of a generated host's network interface since the machine started.
#[derive(Clone, Debug, Default)]
pub struct HostInterface {
    pub name: &'static str,
    /// Usual number of packets of the network interface a second.
    pub usual: f64,
    pub received: u64,
    pub sent: u64,
    pub received_bytes: u64,
    pub sent_bytes: u64,
    pub multicast: u64,
    pub dropped: u64,
}

impl HostInterface {
    /// Adds the network interface's work of the last `seconds` to the counts.
    pub fn pass(&mut self, seconds: f64, random: &mut Random) {
        let work = self.usual * seconds * random.between(0.5, 1.5);
        let (received, sent) = (random.events(work), random.events(work * 0.8));
        self.received += received;
        self.sent += sent;
        self.received_bytes += received * (90 + random.below(1_000));
        self.sent_bytes += sent * (90 + random.below(900));
        self.multicast += random.events(self.usual.min(1.0) * 0.3 * seconds);
        self.dropped += u64::from(random.happens(0.01));
    }

    /// Returns the raw value for a counter of Network Interface; `None` if the counter has no source.
    pub fn value(&self, id: u32, is_virtual: bool) -> Option<u64> {
        Some(match id {
            0 => self.received_bytes + self.sent_bytes,
            1 => self.received + self.sent,
            2 => self.received,
            3 => self.sent,
            4 if is_virtual || self.name == "lo" => return None,
            4 => 10_000_000_000,
            5 => self.received_bytes,
            6 => self.received.saturating_sub(self.multicast),
            7 => self.multicast,
            8 => self.dropped,
            9 | 10 | 14 | 15 | 16 => 0,
            11 => self.sent_bytes,
            _ => return None,
        })
    }
}
