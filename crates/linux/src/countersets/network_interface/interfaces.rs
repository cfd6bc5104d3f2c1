//! Network interfaces with their lines of `/proc/net/dev`, for Network Interface and Linux Network Interface.

use perfset_core::NoValue;

use super::links::{self, Link};
use crate::provider::{Collection, ParsedFile, SharedFile, unavailable};
use crate::roots::Roots;
use crate::sources::net_dev::{Counts, NetDev};

/// Network interfaces: their lines of `/proc/net/dev`, and their files in `/sys/class/net`.
#[derive(Debug)]
pub(super) struct Interfaces {
    roots: Roots,
    dev: ParsedFile<NetDev>,
    /// Network interfaces, one for each line of `dev`.
    links: Vec<Link>,
}

impl Interfaces {
    /// Creates a list without interfaces. `dev` is `/proc/net/dev`, which other countersets may share.
    pub(super) fn new(roots: Roots, dev: SharedFile) -> Self {
        let dev = ParsedFile::from_file(dev, "there is no /proc/net/dev", NetDev::parse);
        Self { roots, dev, links: Vec::new() }
    }

    /// Finds the network interfaces. Returns `true` if they differ from those of the last search.
    pub(super) fn refresh(&mut self, pass: &mut Collection) -> Result<bool, NoValue> {
        let Self { roots, dev, links } = self;
        Ok(links::refresh(links, dev.get(pass)?.interfaces(), roots, pass))
    }

    /// Returns all network interfaces, including the loopback interface, in the order of `/proc/net/dev`.
    pub(super) fn links(&self) -> &[Link] {
        &self.links
    }

    pub(super) fn link(&mut self, at: usize) -> Result<&mut Link, NoValue> {
        self.links.get_mut(at).ok_or(NoValue::NotGiven)
    }

    /// Returns one number of a network interface in `/proc/net/dev`.
    pub(super) fn count(
        &mut self,
        at: usize,
        of: fn(&Counts) -> Option<u64>,
        pass: &mut Collection,
    ) -> Result<u64, NoValue> {
        known(of(&self.counts(at, pass)?))
    }

    /// Returns the sum of two numbers of a network interface, which wraps as the kernel's own numbers do.
    pub(super) fn sum(
        &mut self,
        at: usize,
        a: fn(&Counts) -> Option<u64>,
        b: fn(&Counts) -> Option<u64>,
        pass: &mut Collection,
    ) -> Result<u64, NoValue> {
        let counts = self.counts(at, pass)?;
        Ok(known(a(&counts))?.wrapping_add(known(b(&counts))?))
    }

    fn counts(&mut self, at: usize, pass: &mut Collection) -> Result<Counts, NoValue> {
        let dev = self.dev.get(pass)?;
        match dev.interfaces().get(at).map(|interface| interface.counts.clone()) {
            Some(Ok(counts)) => Ok(counts),
            Some(Err(text)) => Err(self.dev.fault(text)),
            None => Err(NoValue::NotGiven),
        }
    }
}

fn known(number: Option<u64>) -> Result<u64, NoValue> {
    number.ok_or_else(|| unavailable("this kernel does not report it"))
}
