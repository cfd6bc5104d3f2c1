//! Check of the results of PerfQueryCounterData in a C program, read by the documented structures.

use std::ptr::{null, null_mut};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use perflib::consumer::{PerfAddCounters, PerfCloseQueryHandle, PerfOpenQueryHandle, PerfQueryCounterData};

use crate::check::{Check, Due, Found, Tally};
use crate::play::Play;
use crate::v1::Bytes;
use crate::world::{Column, Event, Row, Want, World, fold};

/// Returns the one machine behind the C functions of this process. It plays one generated machine after another.
fn machine() -> &'static Mutex<Play> {
    static MACHINE: OnceLock<Mutex<Play>> = OnceLock::new();
    MACHINE.get_or_init(|| {
        let play = Play::default();
        perflib::begin_with(play.machine());
        Mutex::new(play)
    })
}

pub fn check(world: &Arc<World>) -> Result<Tally, String> {
    const LEN: usize = 1 << 20;
    let mut check = Check::new(world, "c consumer");
    let mut blocks = Vec::new();
    {
        let play = machine().lock().unwrap_or_else(PoisonError::into_inner);
        play.begin(world);
        let mut query = null_mut();
        // SAFETY: a place for the handle, and no name of a machine.
        assert_eq!(unsafe { PerfOpenQueryHandle(null(), &mut query) }, 0);
        let mut wanted: Vec<u8> = asked(world).iter().flat_map(|asked| asked.identifier(world)).collect();
        // SAFETY: these bytes may be read and written.
        assert_eq!(unsafe { PerfAddCounters(query, wanted.as_mut_ptr(), wanted.len() as u32) }, 0);
        let mut block = vec![0_u8; LEN];
        for _ in 0..world.steps.len() {
            let mut actual = 0;
            // SAFETY: a buffer of `LEN` bytes, and a place for the size.
            let code = unsafe { PerfQueryCounterData(query, block.as_mut_ptr(), LEN as u32, &mut actual) };
            assert_eq!(code, 0);
            blocks.push(block[..actual as usize].to_vec());
        }
        assert_eq!(PerfCloseQueryHandle(query), 0);
    }
    for (step, block) in blocks.iter().enumerate() {
        expect(world, step, &mut check);
        read(world, step, &Bytes(block), &mut check);
    }
    check.finish()
}

/// Entry of the C program's query.
#[derive(Clone, Copy, Debug)]
struct Asked {
    set: usize,
    /// `true` if the query entry requests the first counter only.
    is_one: bool,
    /// Name of the only instance that the query entry requests: the first one with that name. `None` requests all.
    name: Option<&'static str>,
}

/// Returns query entries for all counters of all countersets. Half of the machines get further entries for one
/// counter and one instance, whose values are copied from the same rows.
fn asked(world: &World) -> Vec<Asked> {
    let all = (0..world.sets.len()).map(|set| Asked { set, is_one: false, name: None });
    let more = [(true, None), (false, Some("a")), (true, Some("b"))];
    let more = more.map(|(is_one, name)| Asked { set: 0, is_one, name });
    all.chain(more.into_iter().filter(|_| world.seed % 2 == 1)).collect()
}

impl Asked {
    /// Returns the query entry as bytes of a PERF_COUNTER_IDENTIFIER.
    fn identifier(&self, world: &World) -> Vec<u8> {
        const ANY: u32 = u32::MAX;
        let set = &world.sets[self.set];
        let name = self.name.unwrap_or("*");
        let mut units: Vec<u16> = name.encode_utf16().chain([0]).collect();
        units.resize(units.len().next_multiple_of(4), 0);
        units.retain(|_| !set.is_single);
        let counter = if self.is_one { set.columns[0].id } else { ANY };
        let mut bytes = set.guid.to_wire().to_vec();
        for number in [0, 40 + 2 * units.len() as u32, counter, ANY, 0, 0] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
        bytes
    }

    /// Returns the counters of this query entry at a step.
    fn columns<'w>(&self, world: &'w World, step: usize) -> impl Iterator<Item = (usize, &'w Column)> {
        let is_one = self.is_one;
        world.sets[self.set].at(step).filter(move |(at, _)| !is_one || *at == 0)
    }
}

/// Expects the raw values of all counters, also of those that are not displayed. Each query entry has its own result.
fn expect(world: &World, step: usize, check: &mut Check<'_>) {
    check.events_of(step);
    for (entry, asked) in asked(world).iter().enumerate() {
        let due = |raw: Option<u64>, events: Vec<Event>| Due {
            want: Want { value: Err("raw"), raw, base: None, mark: None },
            id: None,
            birth: 0,
            has_base: false,
            base: None,
            events,
        };
        let rows = world.rows(step, asked.set).unwrap_or_default();
        let meant = |row: &Row| asked.name.is_none_or(|name| fold(row.name) == fold(name));
        // Of a name the first, and of a result for one instance nothing says which it is.
        let most = if asked.name.is_some() { 1 } else { usize::MAX };
        let mut places = (0..rows.len()).filter(|at| meant(&rows[*at])).take(most).peekable();
        let is_alone = asked.is_one && asked.name.is_some();
        if places.peek().is_none_or(|at| is_alone && rows[*at].cells[0].raw.is_err()) {
            check.must((step, format!("{entry} failed")), due(None, vec![]));
            continue;
        }
        for at in places {
            for (column, about) in asked.columns(world, step) {
                let (name, id) = match asked.name {
                    Some(_) => ("", 0),
                    None => (rows[at].name, rows[at].id),
                };
                let raw = rows[at].cells[column].raw.ok();
                let key = (step, value_name(entry, name, id, about.id));
                check.must(key, due(raw, world.events(step, asked.set, at, column)));
            }
        }
    }
}

fn value_name(entry: usize, name: &str, id: u32, counter: u32) -> String {
    format!("{entry}: ({name}:{id}) {counter}")
}

fn read(world: &World, step: usize, block: &Bytes<'_>, check: &mut Check<'_>) {
    let asked = asked(world);
    assert_eq!((block.at(0), block.at(4)), (block.0.len(), asked.len()));
    assert_eq!(block.u64(8) as i64, world.steps[step].perf_time, "PerfTimeStamp");
    assert_eq!(block.u64(16) as i64, world.steps[step].time, "PerfTime100NSec");
    let mut at = block.from(48);
    for (entry, one) in asked.iter().enumerate() {
        let (status, kind, size) = (at.u32(0), at.u32(4), at.at(8));
        let mut body = at.from(16);
        // Of one counter the entry says which.
        let mut ids = vec![world.sets[one.set].columns[0].id];
        if kind == 2 || kind == 6 {
            ids = (0..body.at(4)).map(|id| body.u32(8 + 4 * id)).collect();
            body = body.from(body.at(0));
        }
        match kind {
            0 => {
                assert_ne!(status, 0);
                let found = Found { raw: Some(None), ..Found::default() };
                check.found((step, format!("{entry} failed")), found);
            }
            1 | 2 => drop(values(step, entry, "", 0, &ids, body, check)),
            4 | 6 => {
                let count = body.u32(4);
                body = body.from(8);
                for _ in 0..count {
                    let (id, len) = (body.u32(4), body.at(0));
                    let name = body.text(8, len - 8);
                    body = values(step, entry, &name, id, &ids, body.from(len), check);
                }
            }
            kind => panic!("seed {}: a result of type {kind}", world.seed),
        }
        at = at.from(size);
    }
    assert!(at.0.is_empty());
}

/// Reads the values of a row in a data block. Returns the offset behind them.
fn values<'b>(
    step: usize,
    entry: usize,
    name: &str,
    id: u32,
    ids: &[u32],
    mut at: Bytes<'b>,
    check: &mut Check<'_>,
) -> Bytes<'b> {
    for counter in ids {
        let raw = match at.u32(0) {
            0 => None,
            4 => Some(u64::from(at.u32(8))),
            8 => Some(at.u64(8)),
            len => panic!("{len} bytes"),
        };
        let found = Found { raw: Some(raw), ..Found::default() };
        check.found((step, value_name(entry, name, id, *counter)), found);
        at = at.from(at.at(4));
    }
    at
}
