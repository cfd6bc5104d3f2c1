//! Check of the wide output of `perfset get`: a row for each time and instance.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use perfset::output::RowOrder;
use perfset_cli::args::OutputFormat;
use perfset_cli::printer::PrintOptions;
use serde::Deserialize;

use crate::check::{Check, Found, Number, Tally, path};
use crate::get::{expected, first_shown, printed};
use crate::text::{records, unix_ms};
use crate::world::{Row, Set, World};

/// Row of a wide output: time, counterset, instance and its id, then values, reasons and marks by counter.
#[derive(Deserialize)]
struct WideRow {
    time: String,
    counterset: String,
    instance: String,
    instance_id: Option<u32>,
    values: BTreeMap<String, Option<f64>>,
    status: BTreeMap<String, String>,
    mark: BTreeMap<String, String>,
}

impl WideRow {
    fn step(&self, world: &World) -> usize {
        let (date, time) = self.time.strip_suffix('Z').and_then(|t| t.split_once('T')).expect("a time");
        world.step_at(unix_ms(date, time))
    }

    /// Returns the number of the row's instance, found by name and id, among the instances of that name.
    fn occurrence(&self, world: &World) -> usize {
        let set = world.sets.iter().position(|set| set.name == self.counterset).expect("a set");
        let rows = world.rows(self.step(world), set).unwrap_or_default();
        let is_it = |row: &&Row| row.name == self.instance && Some(row.id) == self.instance_id;
        rows.iter().find(is_it).map_or(0, |row| row.occurrence)
    }

    /// Passes the values of the wide row to a check.
    fn found(self, world: &World, check: &mut Check<'_>) {
        let (step, occurrence) = (self.step(world), self.occurrence(world));
        for (counter, value) in &self.values {
            let status = self.status.get(counter).cloned();
            assert_eq!(value.is_none(), status.is_some(), "seed {}: {counter}", world.seed);
            let found = Found {
                value: Some(value.map(Number::full)),
                status: Some(status.unwrap_or_else(|| "ok".to_owned())),
                mark: value.map(|_| self.mark.get(counter).cloned()),
                id: self.instance_id,
                ..Found::default()
            };
            check.found((step, path(&self.counterset, &self.instance, occurrence, counter)), found);
        }
    }
}

pub fn json(world: &Arc<World>) -> Result<Tally, String> {
    let options = PrintOptions { format: OutputFormat::Json, wide: true, ..PrintOptions::default() };
    let text = printed(world, options);
    let mut check = expected(world, "wide json", true);
    for line in text.lines() {
        let row: WideRow = serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}"));
        row.found(world, &mut check);
    }
    check.finish()
}

/// Checks the rows with the highest levels of each counterset in wide output, and that no other rows are there.
pub fn ranked(world: &Arc<World>) -> Result<Tally, String> {
    let most = 1 + (world.seed % 3) as usize;
    let options = PrintOptions {
        format: OutputFormat::Json,
        wide: true,
        top: Some(most as u32),
        order: Some(RowOrder::parse("Level")),
        ..PrintOptions::default()
    };
    let text = printed(world, options);
    let mut check = expected(world, "wide json", true);
    let mut due: BTreeMap<(usize, String), Vec<f64>> = BTreeMap::new();
    check.each_due(|(step, path), due_one| {
        let set = path.split(['(', '\\']).nth(1).expect("a set");
        if let (true, Ok(level)) = (path.ends_with(r"\Level"), due_one.want.value) {
            due.entry((*step, set.to_owned())).or_default().push(level);
        }
    });
    let rows = text.lines().map(|line| serde_json::from_str(line).expect("a row"));
    let rows: Vec<WideRow> = rows.collect();
    let mut found: BTreeMap<(usize, String), Vec<f64>> = BTreeMap::new();
    for row in &rows {
        let level = row.values["Level"].expect("the level of a row that is ranked by it");
        found.entry((row.step(world), row.counterset.clone())).or_default().push(level);
    }
    for levels in due.values_mut() {
        levels.sort_by(|a, b| b.total_cmp(a));
        levels.truncate(most);
    }
    if found != due {
        return Err(format!("wide json: seed {}: has {found:?}, must have {due:?}", world.seed));
    }
    // All other values of these rows are checked, too, and no others are there.
    let names = |row: &WideRow| {
        let occurrence = row.occurrence(world);
        let name = |counter: &String| path(&row.counterset, &row.instance, occurrence, counter);
        row.values.keys().map(name).map(|name| (row.step(world), name)).collect::<Vec<_>>()
    };
    let shown: HashSet<_> = rows.iter().flat_map(names).collect();
    check.retain(|key, _| shown.contains(key));
    rows.into_iter().for_each(|row| row.found(world, &mut check));
    check.finish()
}

pub fn csv(world: &Arc<World>) -> Result<Tally, String> {
    let options = PrintOptions { format: OutputFormat::Csv, wide: true, ..PrintOptions::default() };
    let text = printed(world, options);
    let first = first_shown(world);
    let mut check = expected(world, "wide csv", true);
    let all = records(&text, ',');
    let (before, behind) = (4, all[0].len() - 3);
    assert_eq!(all[0][..before], ["time", "counterset", "instance", "instance_id"]);
    assert_eq!(all[0][behind..], ["status", "mark", "missing"]);
    // A counter has its counterset before its name if another one has the same name.
    let column = |name: &String| match name.strip_prefix('\\').and_then(|rest| rest.split_once('\\')) {
        Some((set, counter)) => (set.to_owned(), counter.to_owned()),
        None => {
            let has = |set: &&Set| set.at(first).any(|(_, column)| column.name == name);
            let sets: Vec<_> = world.sets.iter().filter(has).collect();
            assert_eq!(sets.len(), 1, "seed {}: {name}", world.seed);
            (sets[0].name.to_owned(), name.clone())
        }
    };
    let columns: Vec<(String, String)> = all[0][before..behind].iter().map(column).collect();
    // Counters that come later have no column.
    check.retain(|(_, path), _| {
        let (set, counter) = (path.split(['(', '\\']).nth(1), path.rsplit('\\').next());
        columns.iter().any(|(a, b)| Some(a.as_str()) == set && Some(b.as_str()) == counter)
    });
    let object = |text: &str| -> BTreeMap<String, String> {
        if text.is_empty() { BTreeMap::new() } else { serde_json::from_str(text).expect("an object") }
    };
    for record in &all[1..] {
        let status = object(&record[behind]);
        let mut values = BTreeMap::new();
        for ((set, counter), cell) in columns.iter().zip(&record[before..behind]) {
            match cell.as_str() {
                "" if *set == record[1] && status.contains_key(counter) => {
                    values.insert(counter.clone(), None);
                }
                "" => {}
                cell => {
                    assert_eq!(*set, record[1], "seed {}: {record:?}", world.seed);
                    values.insert(counter.clone(), Some(cell.parse().expect("a number")));
                }
            }
        }
        let row = WideRow {
            time: record[0].clone(),
            counterset: record[1].clone(),
            instance: record[2].clone(),
            instance_id: record[3].parse().ok(),
            values,
            status,
            mark: object(&record[behind + 1]),
        };
        row.found(world, &mut check);
    }
    check.finish()
}
