//! Runs of a segment's table: instances with the readings in which they have a row, and the order of rows.

use perfset_core::Utf16;

use super::super::bytes::{Malformed, PayloadCursor, put_int, put_len, put_uint};
use super::super::table::{CELLS_OF_A_KEY, MOST_CELLS, RecordedTable, RowIdentity, index, position};
use super::super::tick::{name, owner, put_name, put_owner};

/// Run: row of one instance in consecutive readings of a table, without interruption.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub key: RowIdentity,
    /// Index of the first reading of the table that has the run's row.
    pub first: u32,
    /// Index of the reading after the last one that has the run's row.
    pub end: u32,
}

impl Run {
    /// Returns the number of readings in which the run has a row.
    pub fn len(&self) -> usize {
        index(self.end.saturating_sub(self.first))
    }
}

/// Returns an empty row identity, which replaces an identity that was moved out of a list.
pub(super) fn no_key() -> RowIdentity {
    RowIdentity { name: Utf16::default(), id: 0, birth: 0, owner: None }
}

/// Moves a row identity out of a list that is not needed any more.
pub(super) fn take_key(key: &mut RowIdentity) -> RowIdentity {
    std::mem::replace(key, no_key())
}

/// Place of a run's row among the rows of a table, from one reading to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placement {
    pub run: u32,
    pub from: u32,
    pub until: u32,
}

/// Maximum number of runs of a segment's table: twice the number of rows that it can have at a time.
const MOST_RUNS: usize = 2 * RecordedTable::MOST_ROWS;
/// Minimum number of bytes of a run in a segment: one in each of its seven parts.
pub(super) const LEAST_RUN: usize = 7;

/// Appends the runs of a segment's table to a stream: names, ids, births, owners, first readings, ends, and the order
/// of rows.
pub(super) fn put_runs(out: &mut Vec<u8>, runs: &[Run], placements: &[Placement], readings: u32) {
    put_len(out, runs.len());
    for run in runs {
        put_name(out, &run.key.name);
    }
    let mut before = 0_i64;
    for run in runs {
        let id = i64::from(run.key.id);
        put_int(out, id.wrapping_sub(before));
        before = id;
    }
    let mut before = 0;
    for run in runs {
        put_int(out, i64::from_ne_bytes(run.key.birth.wrapping_sub(before).to_ne_bytes()));
        before = run.key.birth;
    }
    for run in runs {
        put_owner(out, run.key.owner);
    }
    runs.iter().for_each(|run| put_uint(out, run.first.into()));
    // Mostly 0: the row was there to the end.
    runs.iter().for_each(|run| put_uint(out, readings.saturating_sub(run.end).into()));
    put_len(out, placements.len());
    let mut before = 0_i64;
    for placement in placements {
        put_int(out, i64::from(placement.run).wrapping_sub(before));
        before = placement.run.into();
    }
    let is_moved =
        |placement: &Placement| runs.get(index(placement.run)).is_some_and(|run| run.first != placement.from);
    let moved = || placements.iter().enumerate().filter(|(_, placement)| is_moved(placement));
    put_len(out, moved().count());
    let mut next = 0_usize;
    for (at, placement) in moved() {
        put_len(out, at.saturating_sub(next));
        put_uint(out, placement.from.into());
        next = at.saturating_add(1);
    }
}

/// Memory that a run takes, as a number of cells: its identity, and its first placement among the rows.
const CELLS_OF_A_RUN: usize = 16;
/// Memory that each further placement of a run takes, as a number of cells.
const CELLS_OF_A_PLACE: usize = 4;

pub(super) fn cells_of_places(runs: usize, places: usize) -> usize {
    let further = places.saturating_sub(runs).saturating_mul(CELLS_OF_A_PLACE);
    runs.saturating_mul(CELLS_OF_A_RUN).saturating_add(further)
}

/// Returns the memory of a segment's table, its runs and their placements, as a number of cells.
pub(super) fn cells_of(runs: &[Run], places: usize, columns: usize, readings: u32) -> usize {
    let rows = most_rows(runs, readings);
    let names: usize = runs.iter().map(|run| run.key.name.len() / 2).sum();
    let cells = rows.saturating_mul(columns.saturating_add(CELLS_OF_A_KEY)).saturating_add(names);
    cells.saturating_add(cells_of_places(runs.len(), places))
}

/// Returns `true` if a segment's table of these runs stays within the limits of a reader.
pub(super) fn is_readable(runs: &[Run], places: usize, columns: usize, readings: u32) -> bool {
    let rows = most_rows(runs, readings);
    runs.len() <= MOST_RUNS
        && rows <= RecordedTable::MOST_ROWS
        && rows.saturating_mul(columns) <= RecordedTable::MOST_CELLS
        && cells_of(runs, places, columns, readings) <= MOST_CELLS
}

/// Reads the runs that [`put_runs`] writes, for a table of `columns` columns and `readings` readings. Its runs may take
/// as much memory as `room` cells.
pub(super) fn runs(
    stream: &[u8],
    columns: usize,
    readings: u32,
    room: usize,
) -> Result<(Vec<Run>, Vec<Placement>), Malformed> {
    let from = &mut PayloadCursor::new(stream);
    let count = from.count(LEAST_RUN, "runs")?;
    // Before memory is taken: a compressed stream of some kilobytes can have two million runs.
    if count > MOST_RUNS || count.saturating_mul(CELLS_OF_A_RUN) > room {
        return Err(from.error(format!("{count} runs of a table do not fit beside the other tables")));
    }
    if readings == 0 && count > 0 {
        return Err(from.error("rows of a table without readings"));
    }
    let mut runs = Vec::with_capacity(count);
    for _ in 0..count {
        let key = RowIdentity { name: name(from)?, id: 0, birth: 0, owner: None };
        runs.push(Run { key, first: 0, end: 0 });
    }
    let mut before = 0_i64;
    for run in &mut runs {
        before = before.wrapping_add(from.int("id of an instance")?);
        run.key.id = u32::try_from(before).map_err(|_| from.error("id of an instance is too large"))?;
    }
    let mut before = 0_u64;
    for run in &mut runs {
        before = before.wrapping_add(u64::from_ne_bytes(from.int("birth of an instance")?.to_ne_bytes()));
        run.key.birth = before;
    }
    for run in &mut runs {
        run.key.owner = owner(from)?;
    }
    for run in &mut runs {
        run.first = from.small("first reading of a run")?;
    }
    for run in &mut runs {
        let after: u32 = from.small("readings after a run")?;
        run.end = readings.saturating_sub(after);
        if after > readings || run.first >= run.end {
            return Err(from.error("run that is empty, or ends before its table begins"));
        }
    }
    if !runs.windows(2).all(|pair| matches!(pair, [a, b] if (&a.key, a.first) <= (&b.key, b.first))) {
        return Err(from.error("runs are not sorted"));
    }
    check_room(from, &runs, columns, readings)?;
    let placements = placements(from, &runs, room)?;
    from.end()?;
    Ok((runs, placements))
}

/// Checks that no reading of these runs has more rows or cells than a table can have.
fn check_room(
    from: &PayloadCursor<'_>,
    runs: &[Run],
    columns: usize,
    readings: u32,
) -> Result<(), Malformed> {
    let most = most_rows(runs, readings);
    if most > RecordedTable::MOST_ROWS || most.saturating_mul(columns) > RecordedTable::MOST_CELLS {
        return Err(from.error("table has too many rows or cells"));
    }
    Ok(())
}

/// Returns the number of rows of the reading in which most runs have a row.
pub(super) fn most_rows(runs: &[Run], readings: u32) -> usize {
    let mut changes = vec![0_isize; index(readings).saturating_add(1)];
    for run in runs {
        if let Some(change) = changes.get_mut(index(run.first)) {
            *change = change.saturating_add(1);
        }
        if let Some(change) = changes.get_mut(index(run.end)) {
            *change = change.saturating_sub(1);
        }
    }
    let mut rows = 0_isize;
    let most = changes.iter().map(|change| {
        rows = rows.saturating_add(*change);
        rows
    });
    usize::try_from(most.max().unwrap_or(0)).unwrap_or(0)
}

fn placements(from: &mut PayloadCursor<'_>, runs: &[Run], room: usize) -> Result<Vec<Placement>, Malformed> {
    let count = from.count(1, "places of rows")?;
    if cells_of_places(runs.len(), count) > room {
        return Err(from.error(format!("{count} places of rows do not fit beside the other tables")));
    }
    let mut placements = Vec::with_capacity(count);
    let mut before = 0_i64;
    for _ in 0..count {
        before = before.wrapping_add(from.int("run of a row")?);
        let run = u32::try_from(before).ok().filter(|run| index(*run) < runs.len());
        let run = run.ok_or_else(|| from.error("row of a run that the table does not have"))?;
        placements.push(Placement { run, from: 0, until: 0 });
    }
    let moved = from.count(2, "rows that moved")?;
    let mut next = 0_usize;
    for _ in 0..moved {
        let at = next.saturating_add(from.small("number of rows")?);
        let since: u32 = from.small("reading in which a row moved")?;
        let place = placements.get_mut(at).ok_or_else(|| from.error("row that moved is not there"))?;
        if since == 0 {
            return Err(from.error("row moved before it was there"));
        }
        place.from = since;
        next = at.saturating_add(1);
    }
    // The places of each run, by time: one since its first reading, and those to which it moved.
    let mut by_run: Vec<(u32, u32, usize)> = Vec::with_capacity(count);
    by_run.extend(placements.iter().enumerate().map(|(at, place)| (place.run, place.from, at)));
    by_run.sort_unstable();
    let mut sorted = by_run.iter().peekable();
    for (number, run) in runs.iter().enumerate() {
        let number = position(number);
        let mut since = run.first;
        let Some(&(_, _, mut at)) = sorted.next_if(|(of, from, _)| *of == number && *from == 0) else {
            return Err(from.error(format!("run {number} has no first place")));
        };
        while let Some((_, moved, next)) = sorted.next_if(|(of, _, _)| *of == number) {
            if *moved <= since || *moved >= run.end {
                return Err(from.error(format!("run {number} moved when it was not there")));
            }
            if let Some(place) = placements.get_mut(at) {
                (place.from, place.until) = (since, *moved);
            }
            (since, at) = (*moved, *next);
        }
        if let Some(place) = placements.get_mut(at) {
            (place.from, place.until) = (since, run.end);
        }
    }
    Ok(placements)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_places_round_trip() {
        let key =
            |name: &str, id, owner| RowIdentity { name: name.into(), id, birth: u64::from(id) << 40, owner };
        let want = vec![
            Run { key: key("", 0, None), first: 0, end: 5 },
            Run { key: key("a", 7, Some((1, u32::MAX))), first: 1, end: 3 },
            Run { key: key("a", 7, Some((1, u32::MAX))), first: 4, end: 5 },
            Run { key: key("\u{e4}", 3, None), first: 0, end: 4 },
        ];
        let place = |run, from, until| Placement { run, from, until };
        let places = vec![
            place(3, 0, 2),
            place(1, 1, 3),
            place(0, 0, 5),
            place(2, 4, 5),
            place(3, 3, 4),
            place(3, 2, 3),
        ];
        let mut out = Vec::new();
        put_runs(&mut out, &want, &places, 5);
        // A table that a reader would not take is not written.
        assert!(is_readable(&want, places.len(), 1, 5));
        assert!(!is_readable(&want, places.len(), RecordedTable::MOST_CELLS, 5));
        assert!(!is_readable(&want, MOST_CELLS, 1, 5));
        assert_eq!(runs(&out, 1, 5, usize::MAX), Ok((want, places)));
        for len in 0..out.len() {
            assert!(runs(&out[..len], 1, 5, usize::MAX).is_err());
        }
        assert!(runs(&out, 1, 4, usize::MAX).is_err());
        assert!(runs(&out, RecordedTable::MOST_CELLS, 5, usize::MAX).is_err());
    }
}
