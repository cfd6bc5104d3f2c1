//! Provider of the counterset Interrupts.

use perfset_catalogue::interrupts as id;
use perfset_core::{CounterId, Counterset, InstanceId, NoValue};
use perfset_engine::{Fact, FactKind};

use crate::provider::{
    Collection, InstanceKey, InstanceSource, MarkedRaw, ParsedFile, SeqFileKind, id_of_name, instance_name,
};
use crate::roots::Roots;
use crate::sources::interrupt_rows::{InterruptRow, InterruptRows};

#[cfg(test)]
mod tests;

/// Instances of the counterset Interrupts, from the rows of `/proc/interrupts`.
#[derive(Debug)]
pub(crate) struct Interrupts {
    file: ParsedFile<InterruptRows>,
    /// Rows of `/proc/interrupts` from which `keys` were made; their counts are old.
    known: Vec<InterruptRow>,
    keys: Vec<InstanceKey>,
}

impl Interrupts {
    /// Creates the provider of the counterset Interrupts, which reads the kernel's files below `roots`.
    pub(crate) fn new(roots: &Roots) -> Self {
        let path = roots.proc.join("interrupts");
        let absent = "there is no /proc/interrupts";
        let file = ParsedFile::new(path, SeqFileKind::Records, absent, InterruptRows::parse);
        Self { file, known: Vec::new(), keys: Vec::new() }
    }
}

/// Returns `true` if two rows of `/proc/interrupts` are the same interrupt of the same devices.
fn is_same(a: &InterruptRow, b: &InterruptRow) -> bool {
    a.name == b.name && a.about == b.about
}

fn key(row: &InterruptRow) -> InstanceKey {
    let name = String::from_utf8_lossy(&row.name);
    let id = name.parse().map_or_else(|_| id_of_name(&row.name), InstanceId);
    match row.devices() {
        [] => InstanceKey::new(instance_name(&row.name), id),
        devices => InstanceKey::new(format!("{} {}", instance_name(&row.name), instance_name(devices)), id),
    }
}

impl InstanceSource for Interrupts {
    const HAS_TOTAL: bool = false;

    fn counterset(&self) -> Counterset {
        id::COUNTERSET.clone()
    }

    fn find(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        let Self { file, known, keys } = self;
        let rows = &file.get(pass)?.rows;
        let is_known = known.len() == rows.len() && known.iter().zip(rows).all(|(a, b)| is_same(a, b));
        if !is_known {
            known.clone_from(rows);
            keys.clear();
            keys.extend(rows.iter().map(key));
        }
        Ok(())
    }

    fn keys(&self) -> &[InstanceKey] {
        &self.keys
    }

    fn facts(&mut self, at: usize, _: &mut Collection) -> Vec<Fact> {
        let about =
            self.known.get(at).map(|row| String::from_utf8_lossy(row.about.trim_ascii()).into_owned());
        about.map(|about| Fact::new(FactKind::Device, Ok(about))).into_iter().collect()
    }

    fn value(&mut self, at: usize, counter: CounterId, pass: &mut Collection) -> Result<MarkedRaw, NoValue> {
        if counter != id::INTERRUPTS_PER_SEC {
            return Err(NoValue::NotGiven);
        }
        let row = self.file.get(pass)?.rows.get(at).ok_or(NoValue::NotGiven)?;
        Ok(u64::from(row.count).into())
    }
}
