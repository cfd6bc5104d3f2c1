//! Online CPUs of the machine, with their files.

use std::ops::RangeInclusive;
use std::path::Path;

use perfset_core::NoValue;
use perfset_engine::SourceError;

use super::cpu_files::{CppcFiles, FrequencyFiles, IdleFiles};
use crate::provider::{
    Collection, CollectionCache, HOLD_SECONDS, KeptFile, MarkedRaw, ParsedFile, ReadFiles, SeqFileKind,
    SharedFile,
};
use crate::roots::Roots;
use crate::sources::cpuinfo::CpuInfo;
use crate::sources::cpulist::{self, CPU_LIMIT, NODE_LIMIT};
use crate::sources::interrupts::Interrupts;
use crate::sources::proc_stat::{CpuTicks, ProcStat};
use crate::sources::schedstat::SchedStat;
use crate::sources::softirqs::{SoftirqKinds, Softirqs};
use crate::sources::softnet_stat::SoftnetStat;
use crate::sources::topology::{CpuLocation, places};

/// Reason for a missing CPU frequency, if [`CpuSources::cpuinfo`] has none.
pub(super) const NO_FREQUENCY: &str = "neither cpufreq nor /proc/cpuinfo knows a frequency";

const NO_SOFTIRQS: &str = "there is no /proc/softirqs";

/// Sources of the countersets of processors, each read at most once per collection.
#[derive(Debug)]
pub(super) struct CpuSources {
    roots: Roots,
    /// Clock ticks per second, the unit of times in `/proc/stat`.
    pub(super) clock_ticks: u64,
    online: KeptFile,
    /// Text of the list of online CPUs at the last reading, and its CPU numbers; both are empty if the file cannot be
    /// read.
    online_text: Vec<u8>,
    online_ids: Vec<u32>,
    /// Numbers of the CPUs in `/proc/stat` when `online` was last read, and the number of collections since then.
    listed_by_stat: Vec<u32>,
    looked: u32,
    /// Kernel's numbers of the CPUs in `cpus`, ascending.
    pub(super) ids: Vec<u32>,
    /// Buffer for the next list of CPU numbers.
    listed: Vec<u32>,
    /// Online CPUs, ordered by NUMA node, then by index.
    pub(super) cpus: Vec<Cpu>,
    pub(super) stat: ParsedFile<ProcStat>,
    pub(super) interrupts: ParsedFile<Interrupts>,
    pub(super) softirqs: ParsedFile<Softirqs>,
    pub(super) softirq_kinds: ParsedFile<SoftirqKinds>,
    pub(super) softnet: ParsedFile<SoftnetStat>,
    pub(super) schedstat: ParsedFile<SchedStat>,
    pub(super) cpuinfo: ParsedFile<CpuInfo>,
}

/// Online CPU, with its files and times.
#[derive(Debug)]
pub(super) struct Cpu {
    pub(super) location: CpuLocation,
    times: CollectionCache<Times>,
    highest: Highest,
    pub(super) idle: IdleFiles,
    pub(super) frequency: FrequencyFiles,
    pub(super) cppc: CppcFiles,
}

/// Times of one CPU from `/proc/stat`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) ticks: CpuTicks,
    /// Ticks of the CPU's resting time, [`CpuTicks::resting`], marked `Held` if the kernel's count stepped back.
    pub(super) resting: MarkedRaw,
    /// Ticks of the CPU's time `idle`, marked `Held` if the kernel's count stepped back.
    pub(super) idle: MarkedRaw,
    /// Ticks of the CPU's time `iowait`, marked `Held` if the kernel's count stepped back.
    pub(super) iowait: Option<MarkedRaw>,
    /// Ticks of the CPU's interrupt handlers, [`CpuTicks::irq`], or the reason for a missing count.
    pub(super) irq: Result<u64, &'static str>,
    /// Ticks of the CPU's soft interrupts, [`CpuTicks::softirq`], or the reason for a missing count.
    pub(super) softirq: Result<u64, &'static str>,
}

/// Function that returns one share of a CPU's [`Times`], or the reason why the kernel lacks that share.
pub(super) type PartOfTime = fn(&Times) -> Result<MarkedRaw, &'static str>;

/// Reason for a missing time of a CPU: `/proc/stat` of an old kernel has no column for it.
pub(super) const NOT_APART: &str = "this kernel does not count it apart";

/// Reason for a missing time in interrupt handlers. Without `CONFIG_IRQ_TIME_ACCOUNTING` the column stays 0: nothing
/// was measured.
const NO_IRQ_TIME: &str = "the kernel has counted no time in interrupt handlers since boot: it measures that only with \
                           CONFIG_IRQ_TIME_ACCOUNTING";

/// Reason for a missing time in soft interrupts. Every kernel that counts this time has some soon after boot.
const NO_SOFTIRQ_TIME: &str = "the kernel has counted no time in soft interrupts since boot";

/// Highest numbers of idle ticks of a CPU so far, reported if the kernel's counts step back.
#[derive(Clone, Copy, Debug, Default)]
struct Highest {
    resting: u64,
    idle: u64,
    iowait: u64,
}

impl CpuSources {
    /// Maximum number of CPUs that keep the file descriptors of their own files, about a dozen each: the limit of a
    /// process is often 1,024 files in all.
    const CPUS_THAT_KEEP: usize = 16;

    /// Maximum number of collections between two readings of the online CPUs in `/sys`.
    const LOOK: u32 = 100;

    pub(super) fn new(roots: Roots, stat: SharedFile, clock_ticks: u64) -> Self {
        let proc = |name| roots.proc.join(name);
        let softirqs = SharedFile::new(proc("softirqs"), SeqFileKind::Single);
        Self {
            online: KeptFile::new(roots.sys.join("devices/system/cpu/online"), SeqFileKind::Single),
            online_text: Vec::new(),
            online_ids: Vec::new(),
            listed_by_stat: Vec::new(),
            looked: 0,
            ids: Vec::new(),
            listed: Vec::new(),
            cpus: Vec::new(),
            stat: ParsedFile::from_file(stat, "there is no /proc/stat", ProcStat::parse),
            interrupts: ParsedFile::new(
                proc("interrupts"),
                SeqFileKind::Records,
                "there is no /proc/interrupts",
                Interrupts::parse,
            ),
            softirqs: ParsedFile::from_file(softirqs.clone(), NO_SOFTIRQS, Softirqs::parse),
            softirq_kinds: ParsedFile::from_file(softirqs, NO_SOFTIRQS, SoftirqKinds::parse),
            softnet: ParsedFile::new(
                roots.net("softnet_stat"),
                SeqFileKind::Lines,
                "there is no /proc/net/softnet_stat",
                SoftnetStat::parse,
            ),
            schedstat: ParsedFile::new(
                proc("schedstat"),
                SeqFileKind::Records,
                "there is no /proc/schedstat: the kernel was built without CONFIG_SCHEDSTATS",
                SchedStat::parse,
            ),
            cpuinfo: ParsedFile::new(proc("cpuinfo"), SeqFileKind::Records, NO_FREQUENCY, CpuInfo::parse),
            roots,
            clock_ticks,
        }
    }

    /// Finds the online CPUs. Returns `true` if they differ from those of the last collection.
    ///
    /// The CPUs are those that both `/sys` and `/proc/stat` list, as in a container one of the two may be the host's.
    /// If there are none, they are those of `/proc/stat`, else those of `/sys`.
    ///
    /// `/proc/stat` is read if `/sys` has changed or does not suffice, or for the `times` in it. If it is read for
    /// these and lists the same CPUs as before, `/sys` is not read, since it would not have changed. Every
    /// [`LOOK`](Self::LOOK)th time `/sys` is read all the same, as in a container `/proc/stat` may belong to another
    /// system.
    ///
    /// # Errors
    /// If neither lists any CPU.
    pub(super) fn refresh(&mut self, times: bool, pass: &mut Collection) -> Result<bool, SourceError> {
        let Self { online, online_text, online_ids, stat, ids, listed, listed_by_stat, looked, .. } = self;
        // `/proc/stat` is read anyway for the times, and a CPU that goes offline leaves it, too.
        if times && !ids.is_empty() && !online_ids.is_empty() && *looked < Self::LOOK {
            let is_as_before =
                |stat: &ProcStat| stat.cpus.iter().map(|line| &line.cpu).eq(listed_by_stat.iter());
            if stat.get(pass).is_ok_and(is_as_before) {
                *looked = looked.saturating_add(1);
                return Ok(false);
            }
        }
        *looked = 0;
        let by_sys = pass.read(online, "it does not exist", |text| {
            // Comparing the text costs less than parsing it and comparing the CPUs.
            if text == online_text && !text.is_empty() {
                return Ok(false);
            }
            cpulist::parse(text, CPU_LIMIT, online_ids)?;
            online_text.clear();
            online_text.extend_from_slice(text);
            Ok(true)
        });
        // Without this, a file that returns with the same text would count as unchanged.
        if by_sys.is_err() {
            online_text.clear();
            online_ids.clear();
        }
        let nothing_new = by_sys == Ok(false) && !online_ids.is_empty();
        if nothing_new && !times {
            return Ok(false);
        }
        let by_stat = stat.get(pass);
        listed_by_stat.clear();
        listed_by_stat.extend(by_stat.iter().flat_map(|stat| &stat.cpus).map(|line| line.cpu));
        // One unreadable source is no reason to change the rows.
        if nothing_new && by_stat.is_err() {
            return Ok(false);
        }

        listed.clear();
        if let Ok(stat) = &by_stat {
            listed.extend(online_ids.iter().filter(|cpu| stat.cpu(**cpu).is_some()));
            if listed.is_empty() {
                listed.extend(stat.cpus.iter().map(|line| line.cpu));
            }
        }
        if listed.is_empty() {
            listed.extend_from_slice(online_ids);
        }
        if listed.is_empty() {
            return Err(no_cpus(online.path(), by_sys.map(|_| ()), by_stat.map(|_| ())));
        }
        let changed = listed != ids;
        if changed {
            std::mem::swap(listed, ids);
            self.find_cpus(pass);
        }
        Ok(changed)
    }

    fn find_cpus(&mut self, pass: &mut Collection) {
        // A CPU that stays keeps its highest counts, by its number: its index may be another one now.
        let gone = std::mem::take(&mut self.cpus);
        let mut before: Vec<_> = gone.into_iter().map(|cpu| (cpu.location.cpu, cpu.highest)).collect();
        before.sort_unstable_by_key(|(cpu, _)| *cpu);
        let folder = self.roots.sys.join("devices/system/cpu");
        // With many CPUs, opening the files each time is better than using up the descriptors of the program.
        let keep = self.ids.len() <= Self::CPUS_THAT_KEEP;
        let cpu = |location: CpuLocation| {
            let folder = folder.join(format!("cpu{}", location.cpu));
            let known = before.binary_search_by_key(&location.cpu, |(cpu, _)| *cpu).ok();
            Cpu {
                location,
                times: CollectionCache::default(),
                highest: known.and_then(|at| before.get(at)).map(|(_, highest)| *highest).unwrap_or_default(),
                idle: IdleFiles::new(&folder, keep),
                frequency: FrequencyFiles::new(&folder, keep),
                cppc: CppcFiles::new(&folder, keep),
            }
        };
        let nodes = self.nodes(pass);
        self.cpus = places(&self.ids, &nodes).into_iter().map(cpu).collect();
    }

    /// Returns the online NUMA nodes and their CPUs. A list that cannot be read is empty.
    fn nodes(&self, pass: &mut Collection) -> Vec<(u32, Vec<RangeInclusive<u32>>)> {
        let folder = self.roots.sys.join("devices/system/node");
        let mut list = |path, limit| {
            let (mut file, mut ranges) = (KeptFile::new(path, SeqFileKind::Single), Vec::new());
            let read = pass.read(&mut file, "", |text| cpulist::ranges(text, limit, &mut ranges));
            read.map(|()| ranges).unwrap_or_default()
        };
        let nodes = list(folder.join("online"), NODE_LIMIT);
        let mut cpus = |node| list(folder.join(format!("node{node}/cpulist")), CPU_LIMIT);
        nodes.into_iter().flatten().map(|node| (node, cpus(node))).collect()
    }
}

/// Returns the error for a machine on which neither `/sys` nor `/proc/stat` lists a CPU.
fn no_cpus(online: &Path, by_sys: Result<(), NoValue>, by_stat: Result<(), NoValue>) -> SourceError {
    let denied = [&by_sys, &by_stat].iter().any(|by| matches!(by, Err(NoValue::Denied(_))));
    let why =
        |by: Result<(), NoValue>| by.map_or_else(|reason| reason.to_string(), |()| "it lists none".into());
    let online = online.display();
    let why = format!("no CPU can be listed. {online}: {}; stat: {}", why(by_sys), why(by_stat));
    if denied { SourceError::Denied(why.into()) } else { SourceError::Failed(why.into()) }
}

impl Cpu {
    /// Returns the CPU's times from `/proc/stat`.
    ///
    /// The kernel lets idle and iowait of a CPU fall a little: then the highest value so far is returned, of each and
    /// of their sum.
    pub(super) fn times(
        &mut self,
        stat: &mut ParsedFile<ProcStat>,
        clock_ticks: u64,
        pass: &mut Collection,
    ) -> Result<&Times, NoValue> {
        let Self { location, times, highest, .. } = self;
        times.get(pass, |pass| {
            let parsed = stat.get(pass)?;
            let (counts_irq, counts_softirq) = (parsed.counts_irq, parsed.counts_softirq);
            let ticks = match parsed.cpu(location.cpu).map(|line| line.ticks.clone()) {
                Some(Ok(ticks)) => ticks,
                Some(Err(text)) => return Err(stat.fault(text)),
                None => return Err(stat.lacks(location)),
            };
            let limit = clock_ticks.saturating_mul(HOLD_SECONDS);
            // A 0 from a kernel that has never counted this time is not a measurement: it is no value.
            let counted = |ticks: Option<u64>, counts: bool, otherwise| {
                ticks.ok_or(NOT_APART).and_then(|ticks| if counts { Ok(ticks) } else { Err(otherwise) })
            };
            Ok(Times {
                irq: counted(ticks.irq, counts_irq, NO_IRQ_TIME),
                softirq: counted(ticks.softirq, counts_softirq, NO_SOFTIRQ_TIME),
                resting: MarkedRaw::held(&mut highest.resting, ticks.resting(), limit),
                idle: MarkedRaw::held(&mut highest.idle, ticks.idle, limit),
                iowait: ticks.iowait.map(|iowait| MarkedRaw::held(&mut highest.iowait, iowait, limit)),
                ticks,
            })
        })
    }
}
