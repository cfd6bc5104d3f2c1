//! Check of the outputs of `perfset relog`: text, JSON lines, SQLite.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use perfset::Source;
use perfset::log::Existing;
use perfset::path::PathQuery;
use perfset_cli::args::RelogFormat;
use perfset_cli::destination::Destination;
use perfset_cli::relog::{Input, RelogSource, RelogTarget, progress::Progress, write};
use rusqlite::Connection;

use crate::check::{Check, Found, Number, Tally, path, text_path};
use crate::get::{paths, read_columns, read_json};
use crate::play::Play;
use crate::text::{records, unix_ms, without_machine};
use crate::world::{Kind, World};

/// Creates a directory for the files of this thread, on tmpfs if possible.
pub fn folder() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let thread = format!("{:?}", std::thread::current().id()).replace(['(', ')'], "-");
    let folder = parent.join(format!("perfset-outputs-{}-{thread}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Opens a generated machine from its first step as an input of `relog`.
fn machines(world: &Arc<World>) -> Vec<RelogSource> {
    let mut source: Box<dyn Source> = Box::new(Play::source(world));
    let mut query = PathQuery::open(&mut *source).expect("a query");
    for path in paths(world) {
        query.add(&mut *source, &path).expect("it is there");
    }
    vec![RelogSource { name: "HOST".to_owned(), query }]
}

/// Writes a generated machine into a file with `relog`, and calls `read` with the file.
fn written<T>(world: &Arc<World>, format: RelogFormat, read: impl FnOnce(&Path) -> T) -> T {
    let folder = folder();
    let file = folder.join("log");
    let target =
        RelogTarget { file: &file, format, local: false, existing: Existing::Replace, set: Some("log") };
    let input = Input { is_steady: false, offset: 0 };
    let written = write(&target, input, &mut Progress::new(None, &[], 1, false), &mut || Ok(machines(world)));
    let kept = written.and_then(|(_, file)| file.map_or(Ok(()), Destination::keep));
    if let Err(failure) = kept {
        panic!("seed {}: {:#}", world.seed, failure.error);
    }
    let read = read(&file);
    std::fs::remove_dir_all(&folder).expect("it is ours");
    read
}

pub fn check(world: &Arc<World>) -> Result<Tally, String> {
    let mut tally = text(world, "relog csv", RelogFormat::Csv, ',')?;
    tally.add(&text(world, "tsv", RelogFormat::Tsv, '\t')?);
    tally.add(&json_lines(world)?);
    tally.add(&sqlite(world)?);
    Ok(tally)
}

/// Checks a text log of `relog`: every counter of every instance in any sample is a column.
fn text(
    world: &Arc<World>,
    output: &'static str,
    format: RelogFormat,
    separator: char,
) -> Result<Tally, String> {
    let text = written(world, format, |file| std::fs::read_to_string(file).expect("text"));
    let mut check = Check::new(world, output).expect(0..world.steps.len(), true, false, &text_path);
    let all = records(&text, separator);
    let columns: Vec<String> = all[0][1..].iter().map(|path| without_machine(path)).collect();
    let distinct: std::collections::HashSet<_> = columns.iter().collect();
    assert_eq!(distinct.len(), columns.len(), "seed {}: {output}: two columns have one name", world.seed);
    read_columns(world, &mut check, &columns, &all[1..]);
    check.finish()
}

fn json_lines(world: &Arc<World>) -> Result<Tally, String> {
    let text = written(world, RelogFormat::Json, |file| std::fs::read_to_string(file).expect("text"));
    let mut check = Check::new(world, "json lines").expect(0..world.steps.len(), true, true, &path);
    for line in text.lines() {
        let (key, found) = read_json(world, line);
        check.found(key, found);
    }
    check.finish()
}

fn sqlite(world: &Arc<World>) -> Result<Tally, String> {
    let mut check = Check::new(world, "sqlite").expect(0..world.steps.len(), true, false, &path);
    // What has neither a value nor raw numbers has no row; without its base a raw number is none.
    check.retain(|_, due| due.want.raw.is_some() && (!due.has_base || due.want.base.is_some()));
    written(world, RelogFormat::Sqlite, |file| {
        let file = Connection::open(file).expect("a database");
        let sql = "SELECT CounterDateTime, ObjectName, CounterName, InstanceName, InstanceIndex, ParentName,
            CounterValue, FirstValueA, FirstValueB, SecondValueA, SecondValueB
            FROM CounterData JOIN CounterDetails USING (CounterID)";
        let mut statement = file.prepare(sql).expect("the tables");
        let mut rows = statement.query(()).expect("rows");
        while let Some(row) = rows.next().expect("a row") {
            let text = |at: usize| row.get::<_, Option<String>>(at).expect("a text");
            let halves = |at: usize| {
                let half = |at: usize| row.get::<_, Option<i64>>(at).expect("a number");
                half(at).zip(half(at + 1)).map(|(low, high)| (high as u64) << 32 | u64::from(low as u32))
            };
            let (set, counter) = (text(1).expect("an object"), text(2).expect("a counter"));
            let instance = match (text(5), text(3)) {
                (Some(parent), Some(name)) => format!("{parent}/{name}"),
                (_, name) => name.unwrap_or_default(),
            };
            let index = row.get::<_, Option<i64>>(4).expect("an index").unwrap_or(0) as usize;
            let time = text(0).expect("a time");
            let (date, time) = time.split_once(' ').expect("date and time");
            let step = world.step_at(unix_ms(date, time));
            let found = Found {
                value: Some(row.get::<_, Option<f64>>(6).expect("a value").map(Number::full)),
                raw: first_is_raw(world, &set, &counter).then(|| halves(7)),
                ..Found::default()
            };
            check.found((step, path(&set, &instance, index, &counter)), found);
        }
    });
    check.finish()
}

/// Returns `true` if the first raw number of a counter in the output is its raw value. Of an elapsed time it is the
/// clock.
fn first_is_raw(world: &World, set: &str, counter: &str) -> bool {
    let set = world.sets.iter().find(|known| known.name == set).expect("a set");
    set.columns.iter().any(|column| column.name == counter && column.kind != Kind::Elapsed)
}
