//! Provider of the counterset Paging File.

use perfset_catalogue::paging_file as id;
use perfset_core::{CounterId, Counterset, NoValue};

use crate::provider::{
    Collection, InstanceKey, InstanceSource, MarkedRaw, ParsedFile, SeqFileKind, id_of_name, instance_name,
    unavailable,
};
use crate::roots::Roots;
use crate::sources::swaps::Swaps;

#[cfg(test)]
mod tests;

/// Instances of the counterset Paging File, from `/proc/swaps`.
#[derive(Debug)]
pub(crate) struct PagingFile {
    swaps: ParsedFile<Swaps>,
    keys: Vec<InstanceKey>,
    /// Paths of the swap areas, in the order of `keys`.
    paths: Vec<Vec<u8>>,
}

impl PagingFile {
    /// Creates the provider of the counterset Paging File, which reads the kernel's files below `roots`.
    pub(crate) fn new(roots: &Roots) -> Self {
        let file = roots.proc.join("swaps");
        let swaps = ParsedFile::new(file, SeqFileKind::Records, "there is no /proc/swaps", Swaps::parse);
        Self { swaps, keys: Vec::new(), paths: Vec::new() }
    }
}

impl InstanceSource for PagingFile {
    const HAS_TOTAL: bool = true;

    fn counterset(&self) -> Counterset {
        id::COUNTERSET.clone()
    }

    fn find(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        let Self { swaps, keys, paths } = self;
        let areas = match swaps.get(pass) {
            Ok(swaps) => swaps.areas.as_slice(),
            Err(NoValue::Unavailable(_)) => &[], // this kernel cannot swap
            Err(reason) => return Err(reason),
        };
        if !areas.iter().map(|area| &area.path).eq(paths.iter()) {
            *paths = areas.iter().map(|area| area.path.clone()).collect();
            *keys = (0..paths.len()).filter_map(|at| key(paths.get(..=at)?)).collect();
        }
        Ok(())
    }

    fn keys(&self) -> &[InstanceKey] {
        &self.keys
    }

    fn value(&mut self, at: usize, counter: CounterId, pass: &mut Collection) -> Result<MarkedRaw, NoValue> {
        if let id::PERCENT_USAGE_PEAK | id::PERCENT_USAGE_PEAK_BASE = counter {
            return Err(unavailable("the kernel keeps no such maximum"));
        }
        let space = match &self.swaps.get(pass)?.areas.get(at).ok_or(NoValue::NotGiven)?.space {
            Ok(space) => *space,
            Err(text) => {
                let text = text.clone();
                return Err(self.swaps.fault(text));
            }
        };
        match counter {
            id::PERCENT_USAGE => Ok(space.used.into()),
            id::PERCENT_USAGE_BASE => Ok(space.size.into()),
            _ => Err(NoValue::NotGiven),
        }
    }
}

/// Returns the key of the last swap area in `paths`. The id is the FNV-1a hash of its path, and of the number of areas
/// before it with the same path: deleted files may have the same path.
fn key(paths: &[Vec<u8>]) -> Option<InstanceKey> {
    let (path, before) = paths.split_last()?;
    let same = before.iter().filter(|other| *other == path).count();
    let same = u8::try_from(same).unwrap_or(u8::MAX);
    // A path contains no NUL, so the number behind it cannot be taken for a part of the path.
    let id = id_of_name(&[path.as_slice(), &[0, same]].concat());
    Some(InstanceKey::new(instance_name(path), id))
}
