//! Provider of the counterset Process States.

use std::num::NonZeroU32;
use std::path::PathBuf;

use perfset_catalogue::process_states as id;
use perfset_core::{CounterId, Counterset, InstanceId, Mark, NoValue};

use super::reader::ProcDirReader;
use crate::provider::{Collection, CollectionCache, InstanceKey, InstanceSource, MarkedRaw};
use crate::roots::Roots;
use crate::sources::pid::stat::Stat;

/// Instances of the counterset Process States, from the file `stat` of each process.
#[derive(Debug)]
pub(crate) struct ProcessStates {
    proc: PathBuf,
    /// Reader of the files of processes, with its buffers, which most programs never need.
    reader: Option<ProcDirReader>,
    pids: Vec<u32>,
    keys: Vec<InstanceKey>,
    latest: CollectionCache<StateCounts>,
}

/// Numbers of processes in each state.
#[derive(Debug, Default)]
struct StateCounts {
    of: [u64; LETTERS.len()],
    /// Number of processes whose state `/proc` hides from this user.
    hidden: u32,
}

/// Letters of the process states that the kernel shows (`task_state_array`). The index of a letter is its instance
/// id.
const LETTERS: [u8; 9] = *b"RSDTtXZPI";

impl ProcessStates {
    /// Creates the provider of the counterset Process States, which reads the kernel's files below `roots`.
    pub(crate) fn new(roots: &Roots) -> Self {
        let key = |(at, letter): (u32, u8)| InstanceKey::new(char::from(letter).to_string(), InstanceId(at));
        Self {
            proc: roots.proc.clone(),
            reader: None,
            pids: Vec::new(),
            keys: (0..).zip(LETTERS).map(key).collect(),
            latest: CollectionCache::default(),
        }
    }
}

fn count(
    reader: &mut ProcDirReader,
    pids: &mut Vec<u32>,
    pass: &mut Collection,
) -> Result<StateCounts, NoValue> {
    reader.pids(pids, pass)?;
    let mut counts = StateCounts::default();
    let mut refusal = None;
    let mut known = 0_usize;
    for pid in pids {
        match reader.read((*pid, None), "stat", pass, |text| Stat::parse(text).map(|stat| stat.state)) {
            Ok(Some(state)) => {
                known = known.saturating_add(1);
                let place = LETTERS.iter().position(|letter| *letter == state);
                if let Some(count) = place.and_then(|at| counts.of.get_mut(at)) {
                    *count = count.saturating_add(1);
                }
            }
            Ok(None) => {} // it has ended
            Err(reason) => {
                counts.hidden = counts.hidden.saturating_add(1);
                refusal = Some(reason);
            }
        }
    }
    match refusal.filter(|_| known == 0) {
        Some(reason) => Err(reason),
        None => Ok(counts),
    }
}

impl InstanceSource for ProcessStates {
    const HAS_TOTAL: bool = false;

    fn counterset(&self) -> Counterset {
        id::COUNTERSET.clone()
    }

    fn find(&mut self, _: &mut Collection) -> Result<(), NoValue> {
        Ok(())
    }

    fn keys(&self) -> &[InstanceKey] {
        &self.keys
    }

    fn value(&mut self, at: usize, counter: CounterId, pass: &mut Collection) -> Result<MarkedRaw, NoValue> {
        if counter != id::PROCESSES {
            return Err(NoValue::NotGiven);
        }
        let Self { proc, reader, pids, latest, .. } = self;
        let counts = latest
            .get(pass, |pass| count(reader.get_or_insert_with(|| ProcDirReader::new(proc)), pids, pass))?;
        let raw = counts.of.get(at).copied().ok_or(NoValue::NotGiven)?;
        Ok(MarkedRaw::new(raw, NonZeroU32::new(counts.hidden).map(Mark::Partial)))
    }
}

#[cfg(test)]
mod tests {
    use perfset_catalogue::process_states::{COUNTERSET, PROCESSES};

    use super::*;
    use crate::provider::{MultiInstanceProvider, multi_instance};
    use crate::testing::{CellOutcome, Tree, collect, fixture, opened, try_collect};

    fn provider(roots: &Roots) -> MultiInstanceProvider<ProcessStates> {
        multi_instance(ProcessStates::new(roots))
    }

    fn outcomes(roots: &Roots) -> Vec<CellOutcome> {
        let collected = collect(&mut provider(roots), &[PROCESSES], &["*"]);
        LETTERS.map(|letter| collected.get(&char::from(letter).to_string(), PROCESSES).clone()).to_vec()
    }

    fn values(counts: [u64; 9]) -> Vec<CellOutcome> {
        counts.map(CellOutcome::Value).to_vec()
    }

    #[test]
    fn every_state() {
        assert_eq!(outcomes(&fixture("processes")), values([0, 10, 0, 0, 0, 0, 1, 0, 0]));
        let tree = Tree::proc_of("processes");
        for (pid, letter) in [(1, 'R'), (2, 'I'), (77, 'I'), (300, 'D'), (301, 'T'), (302, 't'), (401, 'P')] {
            let file = format!("proc/{pid}/stat");
            let text = String::from_utf8_lossy(&std::fs::read(tree.path(&file)).unwrap()).into_owned();
            tree.write(&file, &text.replace(") S ", &format!(") {letter} ")));
        }
        assert_eq!(outcomes(&tree.roots()), values([1, 3, 1, 1, 1, 0, 1, 1, 2]));
        // A letter of another kernel is in no instance.
        tree.write("proc/402/stat", &tree.text("proc/402/stat").replace(") S ", ") W "));
        assert_eq!(outcomes(&tree.roots()), values([1, 2, 1, 1, 1, 0, 1, 1, 2]));
    }

    #[test]
    fn processes_that_end_or_make_no_sense() {
        let tree = Tree::proc_of("processes");
        tree.remove("proc/401/stat");
        assert_eq!(outcomes(&tree.roots())[1], CellOutcome::Value(9));
        tree.write("proc/402/stat", "x\n");
        tree.write("proc/403/stat", "");
        assert_eq!(outcomes(&tree.roots())[1], CellOutcome::Partial(7, 2));
        let none = Tree::proc_of("small-vm");
        for pid in [1, 2, 3] {
            none.write(&format!("proc/{pid}/stat"), "x\n");
        }
        let collected = collect(&mut provider(&none.roots()), &[PROCESSES], &["R"]);
        assert!(matches!(collected.get("R", PROCESSES), CellOutcome::None(NoValue::Failed(_))));
        let nothing = Roots { proc: "/nowhere".into(), sys: "/nowhere".into() };
        let got = try_collect(&mut provider(&nothing), &[PROCESSES], &["R"]);
        assert!(matches!(got.unwrap().get("R", PROCESSES), CellOutcome::None(_)));
    }

    #[test]
    fn nothing_is_read_unless_it_is_asked_for() {
        let tree = Tree::proc_of("processes");
        assert_eq!(opened(&tree, provider, &[], &["*"]), [""; 0]);
        assert!(opened(&tree, provider, &[PROCESSES], &["R"]).contains(&"proc/300/stat".to_owned()));
    }

    /// Checks that ids and title indexes of Process States never change: programs and logs hold these numbers.
    #[test]
    fn ids_and_title_indexes() {
        let indexes: Vec<_> = COUNTERSET.counters.iter().map(|c| (c.id.0, c.v1_index.unwrap())).collect();
        assert_eq!(indexes, [(0, 25_166)]);
        assert_eq!(COUNTERSET.v1_index, Some(25_164));
        let collected = collect(&mut provider(&fixture("processes")), &[], &["*"]);
        assert!(collected.rows.iter().map(|row| (row.1, row.0.as_str())).eq([
            (0, "R"),
            (1, "S"),
            (2, "D"),
            (3, "T"),
            (4, "t"),
            (5, "X"),
            (6, "Z"),
            (7, "P"),
            (8, "I"),
        ]));
    }
}
