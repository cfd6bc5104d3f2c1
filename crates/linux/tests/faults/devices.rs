//! Disks and networks of the test's model of a machine.

use std::fmt::Write;

use perfset_catalogue::{block_io, linux_network_interface, network_interface, physical_disk};
use perfset_core::CounterId;

use super::basics::{Count, Expected, KnownValue, ModelSum, Random, Source, Tally};
use super::totals::{FIELDS, Kept, Totals};

/// Index of the reads among the fields of `/proc/diskstats`; the constants below are the indexes of other fields.
const READS: usize = 0;
const READS_MERGED: usize = 1;
const SECTORS_READ: usize = 2;
const READ_MS: usize = 3;
const WRITES: usize = 4;
const WRITES_MERGED: usize = 5;
const SECTORS_WRITTEN: usize = 6;
const WRITE_MS: usize = 7;
const IN_FLIGHT: usize = 8;
const BUSY_MS: usize = 9;
const ALL_MS: usize = 10;

const MS_100NS: u64 = 10_000;
const MS_NS: u64 = 1_000_000;

#[derive(Clone, Debug)]
pub(crate) struct Disk {
    pub(crate) serial: u64,
    minor: u32,
    /// Sequence number that the model's kernel gives the disk.
    diskseq: u64,
    fields: [Count; FIELDS],
    /// Least and greatest number that a reader may have of each field of the disk: the reader holds a count that
    /// falls.
    pub(crate) ranges: [(u64, u64); FIELDS],
    in_flight: u64,
    /// Longest idle time of the disk so far: the clock may go back.
    most_idle: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Disks {
    pub(crate) all: Vec<Disk>,
    /// `true` if the line of the last disk in `/proc/diskstats` is cut.
    is_cut: bool,
    /// Totals over the disks for PhysicalDisk and for LogicalDisk.
    totals: [Totals; 2],
    next_serial: u64,
    /// `true` if the model's kernel numbers disks, as it does since Linux 5.15.
    has_diskseq: bool,
    /// `true` if the times of disks are close to the end of the 32 bits in which the kernel prints them.
    is_short: bool,
    /// Time of the model in units of 100 ns since the monotonic clock was 0.
    up_100ns: u64,
}

const DISKSTATS: Source = Source::File("proc/diskstats");
const MOUNTS: Source = Source::File("proc/1/mountinfo");

fn is_time(field: usize) -> bool {
    [READ_MS, WRITE_MS, BUSY_MS, ALL_MS].contains(&field)
}

impl Disk {
    pub(crate) fn name(&self) -> String {
        format!("sd{}", char::from(b'a' + self.minor as u8))
    }

    fn did_much(&self) -> bool {
        [READS, WRITES].iter().all(|field| self.fields[*field].shown > 1_000_000)
    }

    pub(crate) fn mount_point(&self) -> String {
        format!("/{}", self.name())
    }

    pub(crate) fn id(&self) -> u32 {
        8 << 20 | self.minor
    }

    pub(crate) fn minor(&self) -> u32 {
        self.minor
    }
}

impl Disks {
    pub(crate) fn new(random: &mut Random) -> Self {
        let mut disks = Self {
            all: Vec::new(),
            is_cut: false,
            totals: [false, true].map(Totals::new),
            next_serial: 1,
            has_diskseq: random.once_in(2),
            is_short: random.once_in(3),
            up_100ns: 0,
        };
        disks.begin(0, random);
        disks.begin(1, random);
        for disk in &mut disks.all {
            // The disk has completed many requests before, and its counts may be close to the end of 32 bits.
            let most = if disks.is_short { u64::from(u32::MAX) - 200_000 } else { random.below(1 << 31) };
            disk.fields = disk.fields.map(|_| Count::from(most - random.below(100_000).min(most)));
            disk.fields[BUSY_MS] = Count::from(random.below(1_000));
            disk.ranges = disk.fields.map(|count| (0, count.shown));
        }
        disks
    }

    fn begin(&mut self, minor: u32, random: &mut Random) {
        let (serial, diskseq) = (self.next_serial, self.next_serial + 100);
        self.next_serial += 1;
        let fields = [Count::default(); FIELDS].map(|_| Count::from(random.below(50)));
        let ranges = [(0, 0); FIELDS];
        self.all.push(Disk { serial, minor, diskseq, fields, ranges, in_flight: 0, most_idle: 0 });
        self.all.sort_by_key(|disk| disk.minor);
    }

    pub(crate) fn step(
        &mut self,
        passed_ns: u64,
        monotonic_ns: i64,
        sample: u32,
        random: &mut Random,
        tally: &mut Tally,
    ) {
        self.up_100ns = monotonic_ns as u64 / 100;
        let passed_ms = passed_ns / MS_NS;
        for disk in &mut self.all {
            let most = if random.once_in(2) { 50_000 } else { 0 };
            for (at, count) in disk.fields.iter_mut().enumerate() {
                let most = if at == BUSY_MS { passed_ms.min(most) } else { most };
                let before = count.shown;
                count.add(random.below(most + 1), sample);
                if self.is_short && before >> 32 != count.shown >> 32 {
                    tally.note("count of a disk passes the end of 32 bits");
                }
            }
            disk.in_flight = random.below(10);
            if random.once_in(80) && !self.is_short {
                tally.note("count of a disk falls a little");
                let at = [SECTORS_READ, WRITE_MS, ALL_MS][random.place(3)];
                disk.fields[at].fall(1 + random.below(1_000), sample);
            }
        }
        match random.below(60) {
            0 if self.all.len() < 4 => {
                tally.note("disk is added");
                let minor = (0..4).find(|minor| self.all.iter().all(|disk| disk.minor != *minor));
                self.begin(minor.unwrap_or(9), random);
            }
            // A reader that missed the change notices a removed disk only if the disk had completed many requests.
            1 if self.all.len() > 1 && self.all.iter().any(Disk::did_much) => {
                tally.note("disk is removed");
                let at = self.all.iter().rposition(Disk::did_much).unwrap();
                self.all.remove(at);
            }
            2 if self.all.iter().any(Disk::did_much) => {
                tally.note("disk is replaced by another");
                let at = self.all.iter().position(Disk::did_much).unwrap();
                let disk = self.all.remove(at);
                self.begin(disk.minor, random);
                // A reader that cannot detect the replacement may hold counts of the earlier disk.
                let mut new = self.all.iter_mut().find(|new| new.minor == disk.minor);
                for (count, before) in new.iter_mut().flat_map(|new| &mut new.fields).zip(&disk.fields) {
                    count.most = count.most.max(before.most);
                }
            }
            _ => {}
        }
        for at in 0..self.all.len() {
            let idle = self.idle(&self.all[at]).shown;
            self.all[at].most_idle = self.all[at].most_idle.max(idle);
        }
    }

    /// Updates the range of values of disks that a reader may have after this sample.
    ///
    /// Flags: the list of devices may be unreadable; the list of mounts may be unreadable; the list of devices is cut.
    pub(crate) fn read(&mut self, [stats_fail, mounts_fail, is_cut]: [bool; 3], tally: &mut Tally) {
        self.is_cut = is_cut;
        for disk in &mut self.all {
            for (range, count) in disk.ranges.iter_mut().zip(&disk.fields) {
                let least = if stats_fail { 0 } else { range.0.max(count.shown) };
                *range = (least, range.1.max(count.shown));
            }
        }
        let [physical, logical] = &mut self.totals;
        physical.step(&self.all, stats_fail, tally);
        logical.step(&self.all, stats_fail || mounts_fail, tally);
    }

    /// Returns a field of `/proc/diskstats` as the kernel prints it: times in 32 bits.
    fn shown(at: usize, count: Count) -> u64 {
        if is_time(at) { count.shown & 0xFFFF_FFFF } else { count.shown }
    }

    pub(crate) fn diskstats(&self) -> String {
        let mut text = String::new();
        for disk in &self.all {
            let _ = write!(text, "   8 {:>7} {}", disk.minor, disk.name());
            for (at, count) in disk.fields.iter().enumerate() {
                let number = if at == IN_FLIGHT { disk.in_flight } else { Self::shown(at, *count) };
                let _ = write!(text, " {number}");
            }
            text += "\n";
        }
        text
    }

    pub(crate) fn mounts(&self) -> String {
        let mut text = String::from("20 1 0:21 / / rw - tmpfs none rw\n");
        for disk in &self.all {
            let (id, minor, point, name) = (30 + disk.minor, disk.minor, disk.mount_point(), disk.name());
            let _ = writeln!(text, "{id} 20 8:{minor} / {point} rw - ext4 /dev/{name} rw");
        }
        text
    }

    pub(crate) fn files(&self, mut give: impl FnMut(String, String)) {
        for disk in &self.all {
            let path = |name| format!("sys/block/{}/{name}", disk.name());
            give(path("size"), "4096\n".to_owned());
            give(path("device/x"), String::new());
            if self.has_diskseq {
                give(path("diskseq"), format!("{}\n", disk.diskseq));
            }
        }
    }

    /// Returns the model's count for a counter of PhysicalDisk, in the counter's unit; `None` for levels.
    fn count(&self, disk: &Disk, counter: CounterId) -> Option<Count> {
        use physical_disk as id;
        let f = |at: usize| disk.fields[at];
        Some(match counter {
            id::PERCENT_DISK_TIME => f(READ_MS).and(f(WRITE_MS)).times(MS_100NS),
            id::PERCENT_DISK_READ_TIME | id::AVG_DISK_READ_QUEUE_LENGTH => f(READ_MS).times(MS_100NS),
            id::PERCENT_DISK_WRITE_TIME | id::AVG_DISK_WRITE_QUEUE_LENGTH => f(WRITE_MS).times(MS_100NS),
            id::AVG_DISK_QUEUE_LENGTH => f(READ_MS).and(f(WRITE_MS)).times(MS_100NS),
            id::AVG_DISK_SEC_TRANSFER => f(READ_MS).and(f(WRITE_MS)).times(MS_NS),
            id::AVG_DISK_SEC_READ => f(READ_MS).times(MS_NS),
            id::AVG_DISK_SEC_WRITE => f(WRITE_MS).times(MS_NS),
            id::DISK_TRANSFERS_PER_SEC
            | id::AVG_DISK_SEC_TRANSFER_BASE
            | id::AVG_DISK_BYTES_TRANSFER_BASE => f(READS).and(f(WRITES)),
            id::DISK_READS_PER_SEC | id::AVG_DISK_SEC_READ_BASE | id::AVG_DISK_BYTES_READ_BASE => f(READS),
            id::DISK_WRITES_PER_SEC | id::AVG_DISK_SEC_WRITE_BASE | id::AVG_DISK_BYTES_WRITE_BASE => {
                f(WRITES)
            }
            id::DISK_BYTES_PER_SEC | id::AVG_DISK_BYTES_TRANSFER => {
                f(SECTORS_READ).and(f(SECTORS_WRITTEN)).times(512)
            }
            id::DISK_READ_BYTES_PER_SEC | id::AVG_DISK_BYTES_READ => f(SECTORS_READ).times(512),
            id::DISK_WRITE_BYTES_PER_SEC | id::AVG_DISK_BYTES_WRITE => f(SECTORS_WRITTEN).times(512),
            _ => return None,
        })
    }

    fn wanted(&self, count: Count) -> Expected {
        if self.is_short { Expected::Short(count) } else { Expected::Count(count) }
    }

    /// Returns the idle time of the model's disk: the time of the clock less the busy time.
    fn idle(&self, disk: &Disk) -> Count {
        let busy = disk.fields[BUSY_MS];
        let real = self.up_100ns.saturating_sub(busy.real * MS_100NS);
        Count { real, shown: real, most: disk.most_idle, disturbed: busy.disturbed }
    }

    /// Returns the model's rule for a counter of PhysicalDisk, or the same counter of LogicalDisk.
    pub(crate) fn physical(&self, disk: &Disk, counter: CounterId, is_logical: bool) -> KnownValue {
        use physical_disk as id;
        let from = [DISKSTATS, if is_logical { MOUNTS } else { DISKSTATS }];
        let wanted = match counter {
            id::CURRENT_DISK_QUEUE_LENGTH => Expected::Level(disk.in_flight),
            id::PERCENT_IDLE_TIME => Expected::MayLack(Box::new(Expected::Growth(self.idle(disk)))),
            id::PERCENT_DISK_TIME_BASE
            | id::PERCENT_DISK_READ_TIME_BASE
            | id::PERCENT_DISK_WRITE_TIME_BASE
            | id::PERCENT_IDLE_TIME_BASE => Expected::Unknown,
            id::SPLIT_IO_PER_SEC => Expected::Never,
            _ => self.count(disk, counter).map_or(Expected::Never, |count| self.wanted(count)),
        };
        KnownValue::new(wanted, &from)
    }

    pub(crate) fn physical_total(&self, counter: CounterId, is_logical: bool) -> KnownValue {
        use physical_disk as id;
        let from = [DISKSTATS, if is_logical { MOUNTS } else { DISKSTATS }];
        let is_share = matches!(
            counter,
            id::PERCENT_DISK_TIME | id::PERCENT_DISK_READ_TIME | id::PERCENT_DISK_WRITE_TIME
        );
        let wanted = match counter {
            id::CURRENT_DISK_QUEUE_LENGTH => {
                let totals = &self.totals[usize::from(is_logical)];
                let mut sum = ModelSum { is_whole: true, ..ModelSum::default() };
                for (at, disk) in self.all.iter().enumerate() {
                    let is_cut = self.is_cut && at + 1 == self.all.len();
                    let (may_lack, lacks) = totals.lacks(disk.serial);
                    let known = if may_lack || is_cut { 0 } else { disk.in_flight };
                    sum.all = (sum.all.0 + disk.in_flight, sum.all.1 + disk.in_flight);
                    sum.readable = (sum.readable.0 + known, sum.readable.1 + known);
                    sum.is_whole &= !may_lack && !is_cut;
                    sum.lacks |= lacks || is_cut;
                }
                let sum = Expected::Sum(sum);
                match totals.may_be_none() {
                    true => Expected::MayLack(Box::new(sum)),
                    false => sum,
                }
            }
            id::SPLIT_IO_PER_SEC => Expected::Never,
            _ if is_share && is_logical => Expected::Unknown,
            _ => self.kept(counter, is_logical).map_or(Expected::Unknown, Expected::Kept),
        };
        KnownValue::new(wanted, &from)
    }

    fn kept(&self, counter: CounterId, is_logical: bool) -> Option<Kept> {
        use physical_disk as id;
        let of = |field: usize| self.totals[usize::from(is_logical)].of(field);
        let (fields, factor): (&[usize], u64) = match counter {
            id::PERCENT_DISK_TIME | id::AVG_DISK_QUEUE_LENGTH => (&[READ_MS, WRITE_MS], MS_100NS),
            id::PERCENT_DISK_READ_TIME | id::AVG_DISK_READ_QUEUE_LENGTH => (&[READ_MS], MS_100NS),
            id::PERCENT_DISK_WRITE_TIME | id::AVG_DISK_WRITE_QUEUE_LENGTH => (&[WRITE_MS], MS_100NS),
            id::AVG_DISK_SEC_TRANSFER => (&[READ_MS, WRITE_MS], MS_NS),
            id::AVG_DISK_SEC_READ => (&[READ_MS], MS_NS),
            id::AVG_DISK_SEC_WRITE => (&[WRITE_MS], MS_NS),
            id::DISK_TRANSFERS_PER_SEC
            | id::AVG_DISK_SEC_TRANSFER_BASE
            | id::AVG_DISK_BYTES_TRANSFER_BASE => (&[READS, WRITES], 1),
            id::DISK_READS_PER_SEC | id::AVG_DISK_SEC_READ_BASE | id::AVG_DISK_BYTES_READ_BASE => {
                (&[READS], 1)
            }
            id::DISK_WRITES_PER_SEC | id::AVG_DISK_SEC_WRITE_BASE | id::AVG_DISK_BYTES_WRITE_BASE => {
                (&[WRITES], 1)
            }
            id::DISK_BYTES_PER_SEC | id::AVG_DISK_BYTES_TRANSFER => (&[SECTORS_READ, SECTORS_WRITTEN], 512),
            id::DISK_READ_BYTES_PER_SEC | id::AVG_DISK_BYTES_READ => (&[SECTORS_READ], 512),
            id::DISK_WRITE_BYTES_PER_SEC | id::AVG_DISK_BYTES_WRITE => (&[SECTORS_WRITTEN], 512),
            _ => return None,
        };
        let kept = fields.iter().map(|field| of(*field)).reduce(Kept::and)?;
        let is_short = self.is_short && fields.iter().any(|field| is_time(*field));
        Some(Kept { factor, is_short, ..kept })
    }

    pub(crate) fn block_io(&self, disk: &Disk, counter: CounterId) -> KnownValue {
        use block_io as id;
        let f = |at: usize| disk.fields[at];
        let count = match counter {
            id::REQUESTS_IN_FLIGHT => return KnownValue::new(Expected::Level(disk.in_flight), &[DISKSTATS]),
            id::PERCENT_BUSY_TIME => f(BUSY_MS).times(MS_100NS),
            id::AVG_REQUESTS_IN_FLIGHT => f(ALL_MS).times(MS_100NS),
            id::READS_PER_SEC | id::AVG_SEC_READ_BASE | id::AVG_SECTORS_READ_BASE => f(READS),
            id::READS_MERGED_PER_SEC => f(READS_MERGED),
            id::SECTORS_READ_PER_SEC | id::AVG_SECTORS_READ => f(SECTORS_READ),
            id::PERCENT_READ_TIME => f(READ_MS).times(MS_100NS),
            id::AVG_SEC_READ => f(READ_MS).times(MS_NS),
            id::WRITES_PER_SEC | id::AVG_SEC_WRITE_BASE | id::AVG_SECTORS_WRITE_BASE => f(WRITES),
            id::WRITES_MERGED_PER_SEC => f(WRITES_MERGED),
            id::SECTORS_WRITTEN_PER_SEC | id::AVG_SECTORS_WRITE => f(SECTORS_WRITTEN),
            id::PERCENT_WRITE_TIME => f(WRITE_MS).times(MS_100NS),
            id::AVG_SEC_WRITE => f(WRITE_MS).times(MS_NS),
            _ => return KnownValue::new(Expected::Never, &[]),
        };
        KnownValue::new(self.wanted(count), &[DISKSTATS])
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub(crate) serial: u64,
    name: &'static str,
    ifindex: u32,
    /// Numbers of the network interface in the order of `/proc/net/dev`: eight of received data, and eight of sent
    /// data.
    counts: [Count; 16],
    unknown: Count,
    megabits: u64,
    is_up: bool,
    /// Number of times that the carrier of the network interface appeared or disappeared.
    carrier_changes: u64,
    /// Number of neighbours of the network interface in the ARP table.
    neighbours: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Networks {
    pub(crate) all: Vec<Network>,
    next_index: u32,
    /// `true` if the first process of the model is in another network namespace than the reader.
    pub(crate) of_first: bool,
}

impl Network {
    pub(crate) fn name(&self) -> &str {
        self.name
    }

    pub(crate) fn id(&self) -> u32 {
        self.ifindex
    }
}

impl Networks {
    pub(crate) fn new(random: &mut Random) -> Self {
        let mut networks = Self { all: Vec::new(), next_index: 2, of_first: random.once_in(2) };
        networks.begin("eth0", random);
        networks.begin("wlan0", random);
        networks
    }

    fn begin(&mut self, name: &'static str, random: &mut Random) {
        let ifindex = self.next_index;
        self.next_index += 1;
        let most = if random.once_in(2) { 50 } else { 1_000_000 };
        let counts = [Count::default(); 16].map(|_| Count::from(random.below(most)));
        let unknown = Count::from(random.below(10));
        let megabits = 100 * (1 + random.below(10));
        let (is_up, carrier_changes, neighbours) = (true, 1, random.below(5));
        let serial = ifindex.into();
        self.all.push(Network {
            serial,
            name,
            ifindex,
            counts,
            unknown,
            megabits,
            is_up,
            carrier_changes,
            neighbours,
        });
        self.all.sort_by_key(|network| network.name);
    }

    pub(crate) fn step(&mut self, sample: u32, random: &mut Random, tally: &mut Tally) {
        for network in &mut self.all {
            for count in &mut network.counts {
                count.add(random.below(100_000), sample);
            }
            let [_, packets, _, _, _, _, _, multicast, ..] = network.counts;
            if multicast.shown > packets.shown {
                network.counts[1].add(multicast.shown - packets.shown, sample);
            }
            network.unknown.add(random.below(5), sample);
            network.neighbours = random.below(5);
            if random.once_in(30) {
                tally.note("carrier of a network changes");
                network.is_up = !network.is_up;
                network.carrier_changes += 1;
            }
            if random.once_in(100) {
                tally.note("counts of a network begin anew");
                network.counts.iter_mut().for_each(|count| count.reset(sample));
                network.unknown.reset(sample);
            }
        }
        match random.below(60) {
            0 if self.all.len() > 1 => {
                tally.note("network is removed");
                let at = random.place(self.all.len());
                self.all.remove(at);
            }
            1 | 2 => {
                let names = ["eth0", "wlan0", "veth\\1"];
                let free = names.iter().find(|name| self.all.iter().all(|network| network.name != **name));
                if let Some(name) = free {
                    tally.note("network is added");
                    self.begin(name, random);
                }
            }
            3 => {
                tally.note("network is replaced by another of its name");
                let at = random.place(self.all.len());
                let name = self.all.remove(at).name;
                self.begin(name, random);
            }
            _ => {}
        }
    }

    pub(crate) fn dev(&self) -> String {
        let mut text = String::from(
            "Inter-|   Receive                                                |  Transmit\n \
             face |bytes    packets errs drop fifo frame compressed multicast\
             |bytes    packets errs drop fifo colls carrier compressed\n",
        );
        for network in &self.all {
            let numbers = network.counts.map(|count| count.shown.to_string());
            let _ = writeln!(text, "{:>6}: {}", network.name, numbers.join(" "));
        }
        text
    }

    fn arp(&self) -> String {
        let mut text =
            String::from("IP address       HW type     Flags       HW address            Mask     Device\n");
        for network in &self.all {
            for at in 0..network.neighbours {
                let _ =
                    writeln!(text, "192.0.2.{at} 0x1 0x2 02:00:00:00:00:01     *        {}", network.name);
            }
        }
        text
    }

    fn arp_file(&self) -> &'static str {
        self.path(["proc/net/arp", "proc/1/net/arp"])
    }

    /// Returns the path of a network file: `own` in the reader's network namespace, `of_first` in that of the first
    /// process.
    pub(crate) fn path(&self, [own, of_first]: [&'static str; 2]) -> &'static str {
        if self.of_first { of_first } else { own }
    }

    pub(crate) fn file(&self) -> &'static str {
        if self.of_first { "proc/1/net/dev" } else { "proc/net/dev" }
    }

    pub(crate) fn files(&self, mut give: impl FnMut(String, String)) {
        give(self.file().to_owned(), self.dev());
        give(self.arp_file().to_owned(), self.arp());
        if self.of_first {
            // The reader is in another network namespace.
            give("proc/net/dev".to_owned(), self.dev().replace(": ", ": 77").replace("eth0", "eth7"));
        }
        for network in &self.all {
            let path = |name| format!("sys/class/net/{}/{name}", network.name);
            give(path("ifindex"), format!("{}\n", network.ifindex));
            give(path("type"), "1\n".to_owned());
            give(path("speed"), format!("{}\n", network.megabits));
            give(path("statistics/rx_nohandler"), format!("{}\n", network.unknown.shown));
            give(path("operstate"), if network.is_up { "up\n" } else { "down\n" }.to_owned());
            give(path("carrier"), format!("{}\n", u8::from(network.is_up)));
            give(path("mtu"), "1500\n".to_owned());
            give(path("carrier_changes"), format!("{}\n", network.carrier_changes));
            give(path("carrier_up_count"), format!("{}\n", network.carrier_changes.div_ceil(2)));
            give(path("carrier_down_count"), format!("{}\n", network.carrier_changes / 2));
        }
    }

    pub(crate) fn known(&self, network: &Network, counter: CounterId) -> KnownValue {
        use network_interface as id;
        let [rb, rp, re, rd, _, _, _, rm, tb, tp, te, td, ..] = network.counts;
        let count = match counter {
            id::BYTES_TOTAL_PER_SEC => rb.and(tb),
            id::BYTES_RECEIVED_PER_SEC => rb,
            id::BYTES_SENT_PER_SEC => tb,
            id::PACKETS_PER_SEC => rp.and(tp),
            id::PACKETS_RECEIVED_PER_SEC => rp,
            id::PACKETS_SENT_PER_SEC => tp,
            id::PACKETS_RECEIVED_NON_UNICAST_PER_SEC => rm,
            id::PACKETS_RECEIVED_DISCARDED => return self.level(rd),
            id::PACKETS_RECEIVED_ERRORS => return self.level(re),
            id::PACKETS_OUTBOUND_DISCARDED => return self.level(td),
            id::PACKETS_OUTBOUND_ERRORS => return self.level(te),
            id::PACKETS_RECEIVED_UNKNOWN => {
                let from = Source::Link(network.serial, "statistics/rx_nohandler");
                return KnownValue::new(Expected::Level(network.unknown.shown), &[from]);
            }
            id::CURRENT_BANDWIDTH => {
                let from = Source::Link(network.serial, "speed");
                return KnownValue::new(Expected::Level(network.megabits * 1_000_000), &[from]);
            }
            id::PACKETS_RECEIVED_UNICAST_PER_SEC => {
                return KnownValue::new(Expected::Unknown, &[Source::File(self.file())]);
            }
            _ => return KnownValue::new(Expected::Never, &[]),
        };
        KnownValue::new(Expected::Count(count), &[Source::File(self.file())])
    }

    /// Returns the model's rule for a counter of Linux Network Interface.
    pub(crate) fn linux_known(&self, network: &Network, counter: CounterId) -> KnownValue {
        use linux_network_interface as id;
        let of_link =
            |level, file| KnownValue::new(Expected::Level(level), &[Source::Link(network.serial, file)]);
        let is_up = u64::from(network.is_up);
        let changes = network.carrier_changes;
        let level_or_count = match counter {
            id::UP => return of_link(is_up, "operstate"),
            id::CARRIER => return of_link(is_up, "carrier"),
            id::CARRIER_CHANGES => return of_link(changes, "carrier_changes"),
            id::CARRIER_UPS => return of_link(changes.div_ceil(2), "carrier_up_count"),
            id::CARRIER_DOWNS => return of_link(changes / 2, "carrier_down_count"),
            id::MTU_BYTES => return of_link(1_500, "mtu"),
            id::PACKETS_RECEIVED_WITHOUT_HANDLER => {
                return of_link(network.unknown.shown, "statistics/rx_nohandler");
            }
            id::ARP_ENTRIES => {
                let from = Source::File(self.arp_file());
                return KnownValue::new(Expected::Level(network.neighbours), &[from]);
            }
            id::BYTES_RECEIVED_PER_SEC => (0, true),
            id::PACKETS_RECEIVED_PER_SEC => (1, true),
            id::PACKETS_RECEIVED_ERRORS => (2, false),
            id::PACKETS_RECEIVED_DISCARDED => (3, false),
            id::RECEIVE_FIFO_ERRORS => (4, false),
            id::RECEIVE_FRAME_ERRORS => (5, false),
            id::RECEIVED_COMPRESSED_PACKETS => (6, false),
            id::PACKETS_RECEIVED_MULTICAST_PER_SEC => (7, true),
            id::BYTES_SENT_PER_SEC => (8, true),
            id::PACKETS_SENT_PER_SEC => (9, true),
            id::PACKETS_OUTBOUND_ERRORS => (10, false),
            id::PACKETS_OUTBOUND_DISCARDED => (11, false),
            id::TRANSMIT_FIFO_ERRORS => (12, false),
            id::COLLISIONS => (13, false),
            id::CARRIER_LOSSES => (14, false),
            id::SENT_COMPRESSED_PACKETS => (15, false),
            _ => return KnownValue::new(Expected::Never, &[]),
        };
        match level_or_count {
            (at, true) => KnownValue::new(Expected::Count(network.counts[at]), &[Source::File(self.file())]),
            (at, false) => self.level(network.counts[at]),
        }
    }

    fn level(&self, count: Count) -> KnownValue {
        KnownValue::new(Expected::Level(count.shown), &[Source::File(self.file())])
    }
}
