//! Bench of the C API: the cost of a call beside the collection in it, and of names in 4-byte units beside copying a
//! block.

use std::ffi::c_void;
use std::hint::black_box;
use std::ptr::{null, null_mut};

use anyhow::{Result, ensure};
use perflib::consumer::{
    PerfAddCounters, PerfCloseQueryHandle, PerfOpenQueryHandle, PerfQueryCounterData,
    PerfQueryCounterData_utf32,
};
use perflib::wide::data_to_utf32;
use perfset_catalogue::processor_information as cpu;
use perfset_core::v2::identifier::{self, NewIdentifier};
use perfset_core::{CounterFilter, CounterId, InstanceIdFilter};
use perfset_engine::Snapshot;

use crate::blocks::{COUNTERS, Content, Copy, LARGEST, SIZES, Widths};
use crate::collect::{OF_INTERRUPTS, values, warm_query};
use crate::measure::{Comparison, Report};
use crate::{Options, Out};

/// Measures calls of the C API, and the conversion of names to 4-byte units for all block sizes.
pub fn reports(&Options { rounds, .. }: &Options, out: Out<'_>) -> Result<()> {
    out(&call(rounds)?)?;
    SIZES.into_iter().try_for_each(|size| out(&names(size, rounds)?))
}

/// Measures a collection of the same counters through the engine and through the C API.
fn call(rounds: usize) -> Result<Report> {
    let all = cpu::COUNTERSET.counters.iter().map(|counter| counter.id);
    let counters: Vec<CounterId> = all.filter(|id| !OF_INTERRUPTS.contains(id)).collect();
    let (mut query, mut snapshot) = (warm_query(&counters)?, Snapshot::default());
    query.collect(&mut snapshot)?;
    let len = snapshot.block().len();
    let mut copy = Copy::of(snapshot.block());
    let (utf16, utf32) = (Handle::open(&counters)?, Handle::open(&counters)?);
    let mut buffers = (vec![0; 2 * len], vec![0; 2 * len]);
    for _ in 0..3 {
        ensure!(utf16.read(PerfQueryCounterData, &mut buffers.0) == len as u64, "C gives another block");
        ensure!(
            utf32.read(PerfQueryCounterData_utf32, &mut buffers.1) > len as u64,
            "its names have 4 bytes"
        );
    }
    let title = format!("c: Processor Information, all counters except 3 and 20, instance *, {len} bytes");
    let comparison = Comparison::new(title, values(snapshot.block())?.count)
        .variant("Query::collect and memcpy of the block (floor)", || {
            let collected = query.collect(black_box(&mut snapshot));
            copy.copy(snapshot.block()) + u64::from(collected.is_ok())
        })
        .reference("floor")
        .variant("PerfQueryCounterData, names of 2 bytes", || {
            utf16.read(PerfQueryCounterData, black_box(&mut buffers.0))
        })
        .goal("floor", 1.05)
        .variant("PerfQueryCounterData, names of 4 bytes", || {
            utf32.read(PerfQueryCounterData_utf32, black_box(&mut buffers.1))
        })
        .goal("floor", 1.1);
    Ok(comparison.run(rounds))
}

/// Measures the conversion of a block to names of 4-byte units, beside a copy of the block.
fn names(instances: usize, rounds: usize) -> Result<Report> {
    let content = Content::new(instances, Widths::Long);
    let block = content.build(Vec::new())?;
    let mut wide = Vec::new();
    data_to_utf32(&block, &mut wide);
    ensure!(wide.len() > block.len(), "the names are longer");
    let mut copy = Copy::of(&wide);
    let source = wide.clone();
    let title = format!(
        "c: {instances} instances x {COUNTERS} counters, {} bytes with names of 4-byte units",
        wide.len()
    );
    let goal = (instances == LARGEST).then_some(2.0);
    let comparison = Comparison::new(title, content.values())
        .variant("memcpy of the block (floor)", move || copy.copy(&source))
        .reference("memcpy")
        .variant("data_to_utf32, in a kept buffer", || {
            data_to_utf32(black_box(&block), black_box(&mut wide));
            wide.len() as u64
        })
        .goal("memcpy", goal);
    Ok(comparison.run(rounds))
}

/// Type of the functions `PerfQueryCounterData` and `PerfQueryCounterData_utf32`.
type Query = unsafe extern "system" fn(*mut c_void, *mut u8, u32, *mut u32) -> u32;

/// Query handle of the C API.
struct Handle(*mut c_void);

impl Handle {
    /// Opens a query of the C API with one entry for each counter, as the other benches do.
    #[expect(unsafe_code, reason = "a bench of C functions calls them")]
    fn open(counters: &[CounterId]) -> Result<Self> {
        let mut handle = Self(null_mut());
        // SAFETY: no name, and a place for the handle.
        let opened = unsafe { PerfOpenQueryHandle(null(), &mut handle.0) };
        ensure!(opened == 0, "PerfOpenQueryHandle answers {opened}");
        let mut entries = Vec::new();
        for counter in counters {
            let counterset = cpu::GUID;
            let counter = CounterFilter::One(*counter);
            let (instance_id, name) = (InstanceIdFilter::Any, Some(&[u16::from(b'*')][..]));
            identifier::write(
                &mut entries,
                &NewIdentifier { counterset, counter, instance_id, name, index: 0 },
            );
        }
        let len = u32::try_from(entries.len())?;
        // SAFETY: these bytes.
        let added = unsafe { PerfAddCounters(handle.0, entries.as_mut_ptr(), len) };
        ensure!(added == 0, "PerfAddCounters answers {added}");
        Ok(handle)
    }

    /// Collects a query of the C API into the buffer, and returns the number of bytes; 0 if the call fails.
    #[expect(unsafe_code, reason = "a bench of C functions calls them")]
    fn read(&self, query: Query, buffer: &mut [u8]) -> u64 {
        let mut len = 0;
        let room = u32::try_from(buffer.len()).unwrap_or(0);
        // SAFETY: a buffer of that room, and a place for the size.
        let code = unsafe { query(self.0, buffer.as_mut_ptr(), room, &mut len) };
        if code == 0 { u64::from(len) } else { 0 }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        PerfCloseQueryHandle(self.0);
    }
}
