//! Provider of the countersets that all publishers' files define.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use perfset_core::{Counterset, Guid, InstanceType, Status, Text};
use perfset_engine::{
    Catalogue, Change, CollectRequest, Deadline, Entry, InstanceFilter, Provider, Rows, SourceError,
};

use super::asking::Asks;
use super::budget::Budget;
use super::file::{AccessPolicy, Definitions};
use super::folder::PublisherDir;
use super::loading;
use super::table::FileError;
use crate::allowance::Allowance;
use crate::callback::RequestCode;
use crate::folder::{Folders, Search, SearchScope};
use crate::merge::{Fit, LeftOut};
use crate::process;

mod kept;
mod listing;
mod problems;
mod programs;
mod scope;
mod served;

pub(super) use kept::OpenFile;
use kept::Wanted;
use served::{Publishing, ServedSet};

/// Time that may be spent on all directories of other users together, until passing time adds more.
const FOR_OTHERS: Duration = Duration::from_millis(40);
/// Interval between liveness checks of publishers whose countersets are listed and not collected, and the number of
/// publishers checked each time. Directories with incomplete files are also listed again then. Needed because a
/// directory changes in neither case.
const LIVING: (Duration, usize) = (Duration::from_secs(1), 16);

/// Function that returns the registered countersets. Called before each listing; returns them only if they changed
/// since the last call.
pub type RegistrationFeed = Box<dyn FnMut() -> Option<Vec<Arc<Counterset>>> + Send>;

/// Provider of all published and all registered countersets, including registered ones without a publisher.
///
/// Instances are those of publishers of root and of this user. Root, and members of the group of a shared directory,
/// see those of all users, as do readers that request all users. Names of other users' instances begin with the user
/// ID and `/`. Files of other users are read within limits for all of them together. A counterset is defined by its
/// registration and by all its publishers together (`merge`). If a publisher gives a counter another meaning, it is
/// shown without that counter. No publisher can take a GUID or name of the catalogue or of a registration.
pub struct ApplicationProvider {
    /// Directories in which the provider searches for publishers' files.
    search_folders: Folders,
    folders: Vec<PublisherDir>,
    search: Search,
    /// Time that is left for directories of other users; `next_of_others` is the index of the directory whose turn is
    /// next.
    for_others: Allowance,
    next_of_others: usize,
    not_folders: Vec<(PathBuf, FileError)>,
    asker: AccessPolicy,
    /// User groups whose shared publishers' directories show the files of all users.
    groups: Vec<u32>,
    /// Publishers' directories of other users that cannot be read, and the time at which they were found.
    unreadable: Option<(Instant, Vec<PathBuf>)>,
    files: Vec<OpenFile>,
    definitions: Definitions,
    registered: RegistrationFeed,
    registered_sets: Vec<Arc<Counterset>>,
    sets: BTreeMap<Guid, ServedSet>,
    catalogue: Arc<Catalogue>,
    /// Publishers' files that are not used, each with the reason.
    refused: BTreeMap<PathBuf, FileError>,
    /// Countersets and counters of used files that are left out, with the file and the GUID of the counterset shown
    /// instead.
    left_out: Vec<(PathBuf, Guid, Vec<LeftOut>)>,
    /// Messages about counter names that are shown differently from the publisher's definition.
    renamed: Vec<(PathBuf, Guid, String)>,
    /// Requested counters of the last collection; the memory is reused.
    counters: Wanted,
    /// Name of this machine, which control callbacks receive.
    machine: Arc<[u16]>,
    asks: Asks,
    /// Announced collections, whose publishers have already received requests, each with its counterset and the end
    /// of waiting.
    announced: Vec<(u64, Guid, Instant)>,
    /// Time of the last liveness check of publishers; `next_checked` is the index of the file that the next check
    /// begins with.
    last_check: Option<Instant>,
    next_checked: usize,
}

impl fmt::Debug for ApplicationProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Applications").field("files", &self.files).finish_non_exhaustive()
    }
}

impl ApplicationProvider {
    /// Creates a provider for the files in these directories: those of root and this user, or with `everybody` those
    /// of all users. For root, the files of all users are always included.
    #[must_use]
    pub fn new(folders: &Folders, everybody: bool, registered: RegistrationFeed) -> Self {
        let user = rustix::process::geteuid().as_raw();
        let asker = AccessPolicy {
            user,
            everybody: everybody || scope::sees_everybody(user),
            budget: Budget::for_process(),
            namespace: process::namespace(),
            time_namespace: process::time_namespace("self"),
            boot_id: process::boot_id(),
        };
        let wanted = if asker.everybody { SearchScope::Everybody } else { SearchScope::Own };
        let search = Search::new(folders, wanted);
        Self {
            search_folders: folders.clone(),
            folders: Vec::new(),
            search,
            for_others: Allowance::new(FOR_OTHERS),
            next_of_others: 0,
            not_folders: Vec::new(),
            asker,
            groups: scope::groups(),
            unreadable: None,
            files: Vec::new(),
            definitions: Definitions::default(),
            registered,
            registered_sets: Vec::new(),
            sets: BTreeMap::new(),
            catalogue: Arc::new(Catalogue::new("applications", Vec::new())),
            refused: BTreeMap::new(),
            left_out: Vec::new(),
            renamed: Vec::new(),
            counters: Wanted::default(),
            machine: rustix::system::uname().nodename().to_string_lossy().encode_utf16().collect(),
            asks: Asks::new(Deadline::default()),
            announced: Vec::new(),
            last_check: None,
            next_checked: 0,
        }
    }

    /// Replaces the default deadline for responses of publishers.
    #[must_use]
    pub fn within(mut self, deadline: &Deadline) -> Self {
        self.asks = Asks::new(deadline.clone());
        self
    }

    /// Searches for new and ended publishers and for their new definitions. Returns `true` if something changed.
    fn refresh(&mut self) -> bool {
        let has_lost = self.look_for_folders();
        self.see_who_lives();
        let gone: Vec<usize> =
            self.files.iter().filter(|kept| kept.is_gone).map(|kept| kept.folder).collect();
        self.files.retain(|kept| !kept.is_gone);
        let mut changed = has_lost || !gone.is_empty();
        for at in gone {
            self.doubt(at); // it may be there all the same: it could not be asked
        }
        changed |= self.list_all();
        loading::look_at_all(&mut self.files);
        for OpenFile { file, has_new, .. } in &mut self.files {
            changed |= file.refresh(&mut self.definitions) | std::mem::take(has_new);
        }
        if changed {
            self.files.iter_mut().for_each(OpenFile::announce);
        }
        if let Some(registered_sets) = (self.registered)() {
            self.registered_sets = registered_sets;
            changed = true;
        }
        changed
    }

    /// Marks some of the publishers' files whose publisher has exited, unless the last check was recent.
    fn see_who_lives(&mut self) {
        let (pause, most) = LIVING;
        if self.last_check.is_some_and(|time| time.elapsed() < pause) {
            return;
        }
        self.last_check = Some(Instant::now());
        let files = self.files.iter_mut().skip(self.next_checked).take(most);
        self.next_checked = if files.len() < most { 0 } else { self.next_checked.saturating_add(most) };
        for kept in files {
            kept.is_gone |= !kept.file.is_alive(&self.asker);
        }
        let cut: HashSet<&Path> = self
            .refused
            .iter()
            .filter(|(_, why)| why.may_pass())
            .filter_map(|(path, _)| path.parent())
            .collect();
        self.folders.iter_mut().filter(|folder| cut.contains(&*folder.path)).for_each(PublisherDir::doubt);
    }

    /// Marks a publishers' directory to be listed next time even if it does not change.
    fn doubt(&mut self, at: usize) {
        if let Some(folder) = self.folders.get_mut(at) {
            folder.doubt();
        }
    }

    /// Loads the values of a counterset from all files that publish it. The publishers have received their requests
    /// before, because they may count only on request.
    fn load(&mut self, want: &CollectRequest<'_>, now_100ns: Option<u64>) {
        let Self { files, sets, definitions, .. } = self;
        let Some(served) = sets.get(&want.counterset.guid) else { return };
        let prepare =
            |kept: &mut OpenFile, number: usize| kept.prepare(number, want.counters, definitions, now_100ns);
        let place = |publishing: &Publishing| (publishing.file, publishing.number);
        loading::load(files, &served.files, place, prepare);
    }

    /// Calls `each` with every file that publishes a counterset and whose publisher is running, with the index of its
    /// definition and the fit. `each` returns `true` if it found instances.
    fn living(&mut self, guid: &Guid, mut each: impl FnMut(&mut OpenFile, usize, &Fit, &mut Asks) -> bool) {
        let Self { files, sets, asker, asks, .. } = self;
        let Some(served) = sets.get(guid) else { return };
        for Publishing { file, number, fit } in &served.files {
            let Some(kept) = files.get_mut(*file) else { continue };
            kept.is_gone |= !kept.file.is_alive(asker);
            if kept.is_gone {
                continue;
            }
            let found = each(kept, *number, fit, asks);
            // For a single-instance counterset, use the oldest publisher that has the instance.
            let is_single = served.set.instance_type == InstanceType::Single;
            if is_single && (found || kept.has_instances(*number)) {
                break;
            }
        }
    }
}

impl Provider for ApplicationProvider {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        if self.refresh() {
            self.rebuild();
        }
        Ok(Arc::clone(&self.catalogue))
    }

    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        self.list_instances(counterset, rows)
    }

    fn entry(&mut self, change: Change, entry: &Entry) -> Status {
        self.tell_entry(change, entry)
    }

    fn begin(&mut self, want: &CollectRequest<'_>, until: Instant) {
        // Entries of earlier collections remain here if `collect` was not called for them.
        self.announced.retain(|(collection, ..)| *collection == want.collection);
        self.ask(want);
        self.announced.push((want.collection, want.counterset.guid, until));
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        let machine = Arc::clone(&self.machine);
        let guid = want.counterset.guid;
        let is_this = |begun: &&(u64, Guid, Instant)| (begun.0, begun.1) == (want.collection, guid);
        let until = match self.announced.iter().find(is_this) {
            Some((_, _, until)) => *until,
            None => {
                self.ask(want);
                let now = Instant::now();
                now.checked_add(self.asks.deadline.length()).unwrap_or(now)
            }
        };
        self.wait(until);
        let mut refused = Status::ERROR_SUCCESS;
        let mut counters = std::mem::take(&mut self.counters);
        let is_any = want.instances.iter().any(InstanceFilter::is_any);
        let wanted = (!is_any).then_some(want.instances);
        self.load(want, rows.totals_at_100ns());
        self.living(&guid, |kept, number, fit, asks| {
            let status = kept.status(RequestCode::CollectStart, guid);
            if !status.is_success() {
                refused = status;
                return false;
            }
            let Some(set) = kept.file.definition(number) else { return false };
            let before = rows.len();
            counters.find(set, fit, want.counters, rows);
            kept.collect(number, wanted, &counters, rows);
            if kept.file.has_socket() {
                kept.asking.about_machine(RequestCode::CollectEnd, guid, &machine, asks);
                if kept.asking.is_late() {
                    rows.set_late();
                }
            }
            rows.len() > before
        });
        self.wait(until);
        self.counters = counters;
        unless_refused(refused, rows)?;
        self.unless_missed(&guid, rows)
    }

    fn origin(&mut self, counterset: &Guid) -> Option<Text> {
        let served = self.sets.get(counterset)?;
        let mut files = served.files.iter().filter_map(|publishing| self.files.get(publishing.file));
        let Some(OpenFile { file, .. }) = files.next() else {
            return Some(format!("registered by {}", served.set.provider.name).into());
        };
        let process = &file.header.process;
        let first = format!("{}[{}] user {}", process.program, process.pid, file.user);
        Some(match files.count() {
            0 => first.into(),
            more => format!("{first} and {more} more").into(),
        })
    }

    fn describe(&mut self) -> Vec<(Text, Text)> {
        let sets = self.sets.values().filter(|served| !served.files.is_empty()).count();
        let verb = if self.files.len() == 1 { "publishes" } else { "publish" };
        let what = format!("{} {verb} {}", counted(self.files.len(), "program"), counted(sets, "counterset"));
        let mut all = vec![("applications", what), ("applications", self.scope())];
        let copied = self.files.iter().filter(|kept| kept.file.is_copied_for_now()).count();
        if copied > 0 {
            let is = if copied == 1 { "is" } else { "are" };
            let copied = counted(copied, "file");
            let why = "because no child process is available to load from mappings";
            all.push(("applications", format!("{copied} {is} copied, {why}")));
        }
        all.push(("limits", scope::limits()));
        all.into_iter().map(|(topic, what)| (topic.into(), what.into())).collect()
    }

    fn not_shown(&mut self, counterset: Option<&Guid>) -> Vec<Text> {
        self.not_shown(counterset).into_iter().map(Text::from).collect()
    }

    fn late(&mut self) -> Vec<Text> {
        let late = self.files.iter().filter_map(|kept| Some((&kept.file, kept.asking.lateness()?)));
        late.map(|(file, lateness)| {
            let process = &file.header.process;
            format!("{}[{}] user {}: {lateness}", process.program, process.pid, file.user).into()
        })
        .collect()
    }

    fn problems(&mut self) -> Vec<Text> {
        self.told_problems()
    }

    fn left_out(&mut self) -> Vec<(Guid, Text)> {
        self.told_left_out().into_iter().map(|(_, told)| told).collect()
    }
}

/// Returns an error if a counterset has no rows because a publisher refused the request.
fn unless_refused(refused: Status, rows: &Rows) -> Result<(), SourceError> {
    if refused.is_success() || !rows.is_empty() { Ok(()) } else { Err(SourceError::Refused(refused)) }
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
