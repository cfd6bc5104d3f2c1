//! Search for counters by words of their names and help texts.

use std::sync::Arc;

use perfset_core::{Attributes, Counter, Counterset};

/// Counter that matched a search, as its counterset and its index in it.
#[derive(Clone, Debug)]
pub struct CounterMatch {
    /// Counterset of the counter.
    pub counterset: Arc<Counterset>,
    index: usize,
}

impl CounterMatch {
    /// Returns the counter that matched.
    #[must_use]
    pub fn counter(&self) -> Option<&Counter> {
        self.counterset.counters.get(self.index)
    }

    /// Returns the path of the counter in all instances.
    #[must_use]
    pub fn path(&self) -> String {
        self.counter().map(|counter| path_of(&self.counterset, counter)).unwrap_or_default()
    }

    /// Returns the first sentence of the counter's help text, without its full stop.
    #[must_use]
    pub fn help(&self) -> &str {
        let help = self.counter().map(|counter| &*counter.help).unwrap_or_default();
        help.split(". ").next().unwrap_or_default().trim_end_matches('.')
    }
}

/// Returns the path of a counter in all instances.
#[must_use]
pub fn path_of(set: &Counterset, counter: &Counter) -> String {
    let instance = if set.instance_type.is_multiple() { "(*)" } else { "" };
    format!("\\{}{instance}\\{}", set.name, counter.shown_name())
}

/// Returns the counters whose counterset, name or help text contain all the words. Matches in names come before
/// matches in help texts. `all` includes counters that never have a value on this system.
#[must_use]
pub fn find(countersets: &[Arc<Counterset>], words: &[impl AsRef<str>], all: bool) -> Vec<CounterMatch> {
    let words: Vec<_> = words.iter().map(|word| word.as_ref().to_lowercase()).collect();
    let has_all = |text: &str| words.iter().all(|word| text.contains(word.as_str()));
    let (mut by_name, mut by_help) = (Vec::new(), Vec::new());
    for set in countersets {
        for (at, counter) in set.counters.iter().enumerate() {
            if counter.attributes.contains(Attributes::NO_DISPLAYABLE) || counter.is_never_there() && !all {
                continue;
            }
            let names = format!("{} {}", set.name, counter.shown_name()).to_lowercase();
            let found = || CounterMatch { counterset: Arc::clone(set), index: at };
            if has_all(&names) {
                by_name.push(found());
            } else if has_all(&format!("{names} {}", counter.help.to_lowercase())) {
                by_help.push(found());
            }
        }
    }
    by_name.append(&mut by_help);
    by_name
}
