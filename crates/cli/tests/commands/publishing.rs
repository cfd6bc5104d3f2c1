//! Publisher of the guide's counters, as part of the test.

use std::path::{Path, PathBuf};
use std::time::Duration;

use perfset::publish::{AverageTimer, Counter64, Counterset, Folders, Gauge, PublishedInstance, Publisher};

use crate::running::scratch;

/// Orders, by the shop that they come from.
#[derive(Counterset)]
#[counterset(provider = "Billing", name = "Billing Orders", instances = "multiple")]
pub struct Orders {
    /// Orders that were taken.
    #[counter(name = "Orders/sec", unit = "/s")]
    pub taken: Counter64,
    /// Orders that wait for their payment.
    #[counter(name = "Waiting Orders")]
    pub waiting: Gauge,
    /// How long a payment takes.
    #[counter(name = "Average Payment Time", unit = "s")]
    pub payment: AverageTimer,
}

/// Publisher of the test in a directory of its own, with one instance.
pub struct Published {
    folder: PathBuf,
    pub publisher: Publisher,
    pub lisbon: PublishedInstance<Orders>,
}

impl Published {
    pub fn new(name: &str) -> Self {
        let folder = scratch(&format!("published-{name}"));
        let publisher = Publisher::in_folders(Folders::only(&folder));
        assert_eq!(publisher.problem(), None);
        let lisbon = publisher.instance::<Orders>("Lisbon");
        lisbon.taken.add(3);
        lisbon.waiting.set(2);
        lisbon.payment.record(Duration::from_millis(50));
        Self { folder, publisher, lisbon }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }
}
