//! Example that reads all counters of all processors into a struct: the counterpart of `CpuPerfCounters` in
//! Microsoft's documents.
//!
//! Works on the bytes of the block, as a C program would, and every length is checked, by the view. Takes ten samples,
//! one a second.

use std::error::Error;
use std::thread::sleep;
use std::time::Duration;

use perfset::catalogue::processor_information as cpu;
use perfset::clock::ClockReading;
use perfset::formula::{Reading, timer_share_inverse};
use perfset::v2::{Block, Body};
use perfset::{CounterId, Entry, Query, RawValue, Snapshot, Status};

/// Raw counters of one instance of the counterset Processor Information. `None`: this machine does not have the value.
#[derive(Clone, Debug, Default)]
struct CpuPerfData {
    instance: String,
    instance_id: u32,
    processor_time: Option<u64>,
    user_time: Option<u64>,
    privileged_time: Option<u64>,
    interrupts: Option<u64>,
    dpc_time: Option<u64>,
    interrupt_time: Option<u64>,
    dpcs_queued: Option<u64>,
    dpc_rate: Option<u64>,
    idle_time: Option<u64>,
    c1_time: Option<u64>,
    c2_time: Option<u64>,
    c3_time: Option<u64>,
    c1_transitions: Option<u64>,
    c2_transitions: Option<u64>,
    c3_transitions: Option<u64>,
    priority_time: Option<u64>,
    parking_status: Option<u64>,
    frequency_mhz: Option<u64>,
    maximum_frequency_percent: Option<u64>,
    state_flags: Option<u64>,
    clock_interrupts: Option<u64>,
    average_idle_time: Option<u64>,
    average_idle_time_base: Option<u64>,
    idle_break_events: Option<u64>,
    performance: Option<u64>,
    performance_base: Option<u64>,
    utility: Option<u64>,
    utility_base: Option<u64>,
    privileged_utility: Option<u64>,
    performance_limit: Option<u64>,
    performance_limit_flags: Option<u64>,
}

impl CpuPerfData {
    /// Returns the field for the value of a counter; `None` if the counter is newer than this program.
    fn field(&mut self, counter: CounterId) -> Option<&mut Option<u64>> {
        Some(match counter {
            cpu::PERCENT_PROCESSOR_TIME => &mut self.processor_time,
            cpu::PERCENT_USER_TIME => &mut self.user_time,
            cpu::PERCENT_PRIVILEGED_TIME => &mut self.privileged_time,
            cpu::INTERRUPTS_PER_SEC => &mut self.interrupts,
            cpu::PERCENT_DPC_TIME => &mut self.dpc_time,
            cpu::PERCENT_INTERRUPT_TIME => &mut self.interrupt_time,
            cpu::DPCS_QUEUED_PER_SEC => &mut self.dpcs_queued,
            cpu::DPC_RATE => &mut self.dpc_rate,
            cpu::PERCENT_IDLE_TIME => &mut self.idle_time,
            cpu::PERCENT_C1_TIME => &mut self.c1_time,
            cpu::PERCENT_C2_TIME => &mut self.c2_time,
            cpu::PERCENT_C3_TIME => &mut self.c3_time,
            cpu::C1_TRANSITIONS_PER_SEC => &mut self.c1_transitions,
            cpu::C2_TRANSITIONS_PER_SEC => &mut self.c2_transitions,
            cpu::C3_TRANSITIONS_PER_SEC => &mut self.c3_transitions,
            cpu::PERCENT_PRIORITY_TIME => &mut self.priority_time,
            cpu::PARKING_STATUS => &mut self.parking_status,
            cpu::PROCESSOR_FREQUENCY => &mut self.frequency_mhz,
            cpu::PERCENT_OF_MAXIMUM_FREQUENCY => &mut self.maximum_frequency_percent,
            cpu::PROCESSOR_STATE_FLAGS => &mut self.state_flags,
            cpu::CLOCK_INTERRUPTS_PER_SEC => &mut self.clock_interrupts,
            cpu::AVERAGE_IDLE_TIME => &mut self.average_idle_time,
            cpu::AVERAGE_IDLE_TIME_BASE => &mut self.average_idle_time_base,
            cpu::IDLE_BREAK_EVENTS_PER_SEC => &mut self.idle_break_events,
            cpu::PERCENT_PROCESSOR_PERFORMANCE => &mut self.performance,
            cpu::PERCENT_PROCESSOR_PERFORMANCE_BASE => &mut self.performance_base,
            cpu::PERCENT_PROCESSOR_UTILITY => &mut self.utility,
            cpu::UTILITY_BASE => &mut self.utility_base,
            cpu::PERCENT_PRIVILEGED_UTILITY => &mut self.privileged_utility,
            cpu::PERCENT_PERFORMANCE_LIMIT => &mut self.performance_limit,
            cpu::PERFORMANCE_LIMIT_FLAGS => &mut self.performance_limit_flags,
            _ => return None,
        })
    }
}

/// Sample of all processors: the clocks, and a row for each processor, each node and the machine.
#[derive(Clone, Debug, Default)]
struct CpuSample {
    clocks: ClockReading,
    rows: Vec<CpuPerfData>,
}

struct CpuPerfCounters {
    query: Query,
    snapshot: Snapshot,
}

impl CpuPerfCounters {
    fn new() -> Result<Self, Box<dyn Error>> {
        let mut query = perfset::machine(None)?.query();
        // Every counter of every instance of the one counterset: the result is a PERF_COUNTERSET.
        let status = query.add(&Entry::all(cpu::GUID).instance("*"));
        if !status.is_success() {
            return Err(status.to_string().into());
        }
        Ok(Self { query, snapshot: Snapshot::default() })
    }

    fn read(&mut self) -> Result<CpuSample, Box<dyn Error>> {
        self.query.collect(&mut self.snapshot)?;
        let block = Block::parse(self.snapshot.block())?;
        let result = block.results().next().ok_or("the block has no result")??;
        if result.status != Status::ERROR_SUCCESS {
            return Err(result.status.to_string().into());
        }
        let Body::Counterset(ids, table) = result.body else {
            return Err(format!("the result is a {}", result.kind().name()).into());
        };
        let mut rows = Vec::new();
        for instance in table.rows() {
            let instance = instance?;
            let mut row = CpuPerfData {
                instance: instance.name().to_string(),
                instance_id: instance.id().0,
                ..CpuPerfData::default()
            };
            for (id, value) in ids.iter().zip(instance.values()) {
                if let Some(field) = row.field(id) {
                    *field = value.number().map(RawValue::get);
                }
            }
            rows.push(row);
        }
        Ok(CpuSample { clocks: block.clocks(), rows })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut counters = CpuPerfCounters::new()?;
    let mut old = counters.read()?;
    for _ in 0..10 {
        sleep(Duration::from_secs(1));
        let new = counters.read()?;
        println!("{}", new.clocks.system_time);
        for row in &new.rows {
            let same = |r: &&CpuPerfData| (r.instance_id, &r.instance) == (row.instance_id, &row.instance);
            let Some(before) = old.rows.iter().find(same) else { continue };
            let busy = percent_processor_time(&old.clocks, before, &new.clocks, row);
            println!(
                "  {:12} {}",
                row.instance,
                busy.map_or("-".into(), |percent| format!("{percent:.2} %"))
            );
        }
        old = new;
    }
    Ok(())
}

/// Computes `% Processor Time` from two raw values of PERF_100NSEC_TIMER_INV: idle time, in the unit of the 100 ns
/// clock.
fn percent_processor_time(
    old_clocks: &ClockReading,
    old: &CpuPerfData,
    new_clocks: &ClockReading,
    new: &CpuPerfData,
) -> Option<f64> {
    let reading = |clocks: &ClockReading, idle: Option<u64>| {
        Some(Reading { raw: idle?, time: clocks.time_100ns.into(), freq: 10_000_000 })
    };
    let old = reading(old_clocks, old.processor_time)?;
    let new = reading(new_clocks, new.processor_time)?;
    timer_share_inverse(old, new).ok().map(|percent| percent.clamp(0.0, 100.0))
}
