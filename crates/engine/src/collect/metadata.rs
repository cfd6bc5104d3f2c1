//! Metadata of a collection's query entries, written into the snapshot separately from the block.

use perfset_core::{NoValue, Status};

use super::target::ResultForm;
use super::{EntryPlan, Plan, place};
use crate::engine_counters::CollectionCost;
use crate::error::SourceError;
use crate::snapshot::{EntryMetadata, Snapshot};

impl Plan {
    /// Writes the metadata of all query entries into a snapshot, and returns the cost of the collection.
    pub(super) fn annotate(&mut self, snapshot: &mut Snapshot) -> CollectionCost {
        let mut account = CollectionCost::default();
        for group in &self.groups {
            account.source_bytes = account.source_bytes.saturating_add(group.rows.bytes_read());
            account.missing_values = account.missing_values.saturating_add(group.rows.missing());
            let late = group.rows.is_late() || group.outcome == Err(SourceError::Late);
            account.source_layer = account.source_layer.max(group.rows.layer());
            account.late_providers = account.late_providers.saturating_add(u64::from(late));
            let failed = group.outcome.is_err() && !late;
            account.provider_failures = account.provider_failures.saturating_add(u64::from(failed));
        }
        let annexes = &mut snapshot.annex.entries;
        annexes.reserve_exact(self.entries.len().saturating_sub(annexes.len())); // there can be many queries of one
        annexes.resize_with(self.entries.len(), EntryMetadata::default);
        self.note_rows(annexes);
        for (planned, annex) in self.entries.iter().zip(annexes.iter_mut()) {
            annex.failure = self.failure(planned);
            annex.notes.clear();
            annex.reasons.clear();
            annex.clocks = None;
            annex.took = None;
            annex.instance_id = None;
            annex.instance.clear();
            account.failed_entries =
                account.failed_entries.saturating_add(u64::from(annex.failure.is_some()));
            let Ok(target) = &planned.target else { continue };
            let Some(group) = self.groups.get(target.group) else { continue };
            let rows = &group.rows;
            annex.clocks = rows.clocks();
            annex.took = Some(group.took);
            if rows.has_column_reasons() {
                let reason = |column: &usize| rows.column_reason(*column).cloned();
                annex.reasons.extend(target.columns.iter().map(reason));
            }
            // If its only value is missing, the entry fails, and its instance still has a name.
            let named = group.selection(target.filter).first().filter(|_| group.outcome.is_ok());
            let is_one = group.set.instance_type.is_multiple() && !target.is_of_several();
            if let (Some(row), true) = (named, is_one) {
                annex.instance.extend_from_slice(rows.name(*row).as_bytes());
            }
            if let ResultForm::Row(row) = planned.form {
                annex.instance_id = rows.id(row);
                for (column, note) in rows.notes(row) {
                    if let Some(at) = place(&target.columns, column) {
                        annex.notes.push(((0, at), note.clone()));
                    }
                }
            }
        }
        // For entries of several instances, visit note by note instead of entry by entry: there may be many, and this
        // avoids searches.
        for group in &self.groups {
            for (row, column, note) in group.rows.all_notes() {
                for (entry, column) in group.wanted_by.get(column).map(Vec::as_slice).unwrap_or_default() {
                    let at = self.entries.get(*entry).and_then(|planned| planned.position(group, row));
                    let (Some(at), Some(annex)) = (at, annexes.get_mut(*entry)) else { continue };
                    annex.notes.push(((at, *column), note.clone()));
                }
            }
        }
        account
    }

    /// Writes the row metadata of query entries: once for all entries that select the same rows.
    fn note_rows(&mut self, annexes: &mut [EntryMetadata]) {
        let Self { groups, entries, .. } = self;
        for (planned, annex) in entries.iter().zip(annexes.iter_mut()) {
            let kept = annex.rows.take();
            let Ok(target) = &planned.target else { continue };
            let Some(group) = groups.get_mut(target.group) else { continue };
            match planned.form {
                ResultForm::Failed(_) => {}
                ResultForm::Row(row) => annex.rows = Some(group.metadata(kept, &[row])),
                ResultForm::Table => {
                    // The first entry with this filter lends its memory. The others drop their handles, so
                    // that no entry shares it.
                    if let Some(shared @ None) = group.shared.get_mut(target.filter) {
                        *shared = Some(kept.unwrap_or_default());
                    }
                }
            }
        }
        // No entry shares the stored metadata now, so it can be overwritten.
        for group in groups.iter_mut() {
            for at in 0..group.shared.len() {
                let kept = group.shared.get_mut(at).and_then(Option::take);
                let notes = kept.map(|kept| {
                    let selection = group.selections.get(at).map(Vec::as_slice).unwrap_or_default();
                    group.metadata(Some(kept), selection)
                });
                if let Some(shared) = group.shared.get_mut(at) {
                    *shared = notes;
                }
            }
        }
        for (planned, annex) in entries.iter().zip(annexes.iter_mut()) {
            if let (ResultForm::Table, Ok(target)) = (planned.form, &planned.target) {
                let group = groups.get(target.group);
                annex.rows = group.and_then(|group| group.shared.get(target.filter)?.clone());
            }
        }
        // Memory that the groups share with the snapshot could not be overwritten next time.
        groups.iter_mut().for_each(|group| group.shared.fill(None));
    }

    fn failure(&self, planned: &EntryPlan) -> Option<NoValue> {
        let ResultForm::Failed(status) = planned.form else { return None };
        let target = match &planned.target {
            Ok(target) => target,
            Err(error) => return Some(error.reason()),
        };
        let group = self.groups.get(target.group)?;
        if let Err(error) = &group.outcome {
            return Some(error.reason());
        }
        let row = group.selection(target.filter).first();
        let cell = row.zip(target.columns.first());
        Some(match cell.and_then(|(row, column)| group.rows.reason(*row, *column)) {
            Some(reason) => reason.clone(),
            None if row.is_none() && status == Status::ERROR_NO_DATA => NoValue::NoInstance,
            None => NoValue::Status(status),
        })
    }
}
