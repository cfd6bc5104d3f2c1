//! Numbers of the cell states in a segment, translated from the journal's numbers of these states.

use perfset_engine::CellState;

use super::super::bytes::Malformed;
use super::super::table::{CellStateNumber, StateList, index};
use super::align::NONE;

/// Translation of a journal's numbers of cell states to those of a segment; the journal can replace its list of
/// states.
#[derive(Debug, Default)]
pub(super) struct StateNumbers {
    /// Segment's state number for each state number of the journal, or [`NONE`].
    known: Vec<u32>,
    /// State numbers of the journal whose translation to the segment is known.
    used: Vec<u32>,
    /// Cell states that the last call translated, with the journal's numbers.
    raw: Vec<CellStateNumber>,
    /// Cell states that the last call translated, with the segment's numbers.
    pub now: Vec<CellStateNumber>,
}

impl StateNumbers {
    /// Translates the state numbers of all cells into `now`. Returns `true` if they are the same as at the call
    /// before; then `now` is not changed.
    pub fn translate(
        &mut self,
        states: &[CellStateNumber],
        list: &StateList,
        own: &mut StateList,
    ) -> Result<bool, Malformed> {
        // A key tick can have another list: then a number is that of another state.
        let is_same = |(number, own_number): (u32, u32)| list.get(number) == own.get(own_number);
        let mut pairs =
            self.used.iter().map(|number| (*number, self.known.get(index(*number)).copied().unwrap_or(NONE)));
        let is_valid = pairs.all(is_same);
        if !is_valid || self.used.len() > self.raw.len().saturating_mul(2).saturating_add(64) {
            for number in self.used.drain(..) {
                if let Some(place) = self.known.get_mut(index(number)) {
                    *place = NONE;
                }
            }
        } else if self.raw == states {
            return Ok(true);
        }
        self.now.clear();
        for (at, number) in states {
            let known = self.known.get(index(*number)).copied().filter(|known| *known != NONE);
            let known = match known {
                Some(known) => known,
                None => {
                    let state = list.get(*number).ok_or_else(|| Malformed {
                        offset: 0,
                        what: "state of a cell is not known".to_owned(),
                    })?;
                    let known = own.number(CellState::clone(state));
                    if self.known.len() <= index(*number) {
                        self.known.resize(index(*number).saturating_add(1), NONE);
                    }
                    if let Some(place) = self.known.get_mut(index(*number)) {
                        *place = known;
                    }
                    self.used.push(*number);
                    known
                }
            };
            self.now.push((*at, known));
        }
        self.raw.clear();
        self.raw.extend_from_slice(states);
        Ok(false)
    }
}
