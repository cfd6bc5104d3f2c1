//! Check of text logs of other programs with different columns, one after another, converted by `relog` and shown by
//! `get`.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use perfset::log::Existing;
use perfset::log::{Input, Logs, Pick};
use perfset_cli::args::{OutputFormat, RelogFormat};
use perfset_cli::operands::Operands;
use perfset_cli::printer::PrintOptions;
use perfset_cli::query_source::QuerySource;
use perfset_cli::relog::{RelogJob, RelogTarget};
use perfset_cli::samples::Samples;

use crate::check::{Check, Found, Tally, text_path};
use crate::get::{paths, print, read_columns, read_json};
use crate::random::Random;
use crate::relog::folder;
use crate::text::{records, without_machine};
use crate::world::World;

pub fn check(world: &Arc<World>) -> Result<Tally, String> {
    let world = &Arc::new(world.for_logs());
    let texts = texts(world);
    let mut tally = relogged(world, &texts)?;
    tally.add(&shown(world, &texts)?);
    Ok(tally)
}

/// Returns a generated machine as one text log, or as several that follow one another.
fn texts(world: &World) -> Vec<String> {
    let mut random = Random(world.seed);
    let mut ends = vec![world.steps.len()];
    (0..2).for_each(|_| ends.push(1 + random.below(world.steps.len())));
    ends.sort_unstable();
    ends.dedup();
    let mut begin = 0;
    let mut texts = Vec::new();
    for end in ends {
        texts.push(text(world, begin, end, &mut random));
        begin = end;
    }
    texts
}

/// Returns some steps of a generated machine as a text log, with a column for each counter of each instance in any of
/// these steps.
fn text(world: &World, begin: usize, end: usize, random: &mut Random) -> String {
    let mut columns: BTreeMap<String, HashMap<usize, f64>> = BTreeMap::new();
    let mut of_these = Check::new(world, "").expect(begin..end, begin > 0, false, &text_path);
    of_these.each_due_mut(|(step, path), due| {
        if !columns.contains_key(path) {
            columns.insert(path.clone(), HashMap::new());
        }
        if let (Ok(value), Some(column)) = (due.want.value, columns.get_mut(path)) {
            column.insert(*step, value);
        }
    });
    let mut columns: Vec<_> = columns.into_iter().collect();
    for at in 1..columns.len() {
        columns.swap(at, random.below(at + 1));
    }
    let mut text = "\"(PDH-CSV 4.0) (UTC)(0)\"".to_owned();
    for (column, _) in &columns {
        write!(text, ",\"\\\\HOST{column}\"").expect("memory");
    }
    text.push_str("\r\n");
    for step in begin..end {
        // All are of one day.
        let ms = world.ms(step).rem_euclid(86_400_000);
        let (seconds, ms) = (ms / 1_000, ms % 1_000);
        let (h, m, s) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        write!(text, "\"01/03/2026 {h:02}:{m:02}:{s:02}.{ms:03}\"").expect("memory");
        for (_, values) in &columns {
            match values.get(&step) {
                Some(value) => write!(text, ",\"{value}\"").expect("memory"),
                None => text.push_str(",\" \""),
            }
        }
        text.push_str("\r\n");
    }
    text
}

/// Expects every value that exists in an output of text logs. A log contains no reasons, and no missing values of
/// first rates.
fn expected<'w>(world: &'w World, output: &'static str) -> Check<'w> {
    let mut check = Check::new(world, output).expect(0..world.steps.len(), true, false, &text_path);
    check.retain(|_, due| due.want.value.is_ok());
    check
}

fn relogged(world: &Arc<World>, texts: &[String]) -> Result<Tally, String> {
    let folder = folder();
    let mut files: Vec<PathBuf> = Vec::new();
    for (number, text) in texts.iter().enumerate() {
        files.push(folder.join(format!("{number}.csv")));
        std::fs::write(&files[number], text).expect("a file");
    }
    let output = folder.join("out.csv");
    let target = RelogTarget {
        file: &output,
        format: RelogFormat::Csv,
        local: false,
        existing: Existing::Refuse,
        set: None,
    };
    let job = RelogJob { files, machines: vec![], paths: vec![], begin: None, end: None, pick: Pick::All };
    if let Err(failure) = job.run(&target, false) {
        panic!("seed {}: {:#}", world.seed, failure.error);
    }
    let text = std::fs::read_to_string(&output).expect("a file");
    std::fs::remove_dir_all(&folder).expect("it is ours");
    let all = records(&text, ',');
    let columns: Vec<String> = all[0][1..].iter().map(|path| without_machine(path)).collect();
    let mut check = expected(world, "logs to csv");
    read_columns(world, &mut check, &columns, &all[1..]);
    check.finish()
}

/// Checks the output of `perfset get --log` for the text logs.
fn shown(world: &Arc<World>, texts: &[String]) -> Result<Tally, String> {
    let inputs = texts.iter().map(|text| Input::Bytes(text.clone().into_bytes().into())).collect();
    let logs = Logs::from_inputs(inputs).expect("they are logs");
    let known = |path: &perfset::path::CounterPath| {
        let (bare, named) = (format!("\\{}\\", path.counterset), format!("\\{}(", path.counterset));
        texts.iter().any(|text| text.contains(&bare) || text.contains(&named))
    };
    let paths = paths(world).into_iter().filter(known).collect();
    let operands = Operands { paths, ..Operands::default() };
    let samples = Samples::new(QuerySource::Logs { logs, files: vec![] }, operands);
    let mut samples = samples.unwrap_or_else(|failure| panic!("seed {}: {:#}", world.seed, failure.error));
    let mut check = expected(world, "logs to json");
    let options = PrintOptions { format: OutputFormat::Json, ..PrintOptions::default() };
    for line in print(world, &mut samples, options).lines() {
        let ((step, path), found) = read_json(world, line);
        // Whatever has a column is there at all times of that log.
        if matches!(found.value, Some(Some(_))) {
            check.found((step, path.replace('"', "_")), Found { value: found.value, ..Found::default() });
        }
    }
    check.finish()
}
