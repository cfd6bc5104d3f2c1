//! What all programs publish, as one provider.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::ops::Range;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::fence;
use std::time::{Duration, Instant};

use perfset_core::{
    Attributes, CounterId, Counterset, Guid, InstanceId, InstanceType, NoValue, Status, Text, catalogue,
    utf16,
};
use perfset_engine::{
    Catalogue, Change, Deadline, Entry, InstanceFilter, InstanceFilters, Provider, Rows, SourceError, Want,
};
use rustix::process::{Resource, getrlimit};

use super::asking::{self, Asking, Asks, Referenced};
use super::copied::{self, Copied};
use super::file::{Asker, Bytes, Definitions, ProgramFile};
use super::folder::Folder;
use super::index::{Index, Indexed, Segment, birth};
use super::table::Refused;
use crate::callback::What;
use crate::definition::agree;
use crate::folder::Folders;
use crate::process;

mod programs;

/// Of the descriptors that this process may have one in so many is kept for a file: other files are opened each time
/// that they are asked for, which costs two to three times as much.
const KEPT: u64 = 4;
/// So often it is seen whether some programs live whose countersets are listed and not collected: a folder does not
/// change when a program dies. And so many: the next ones come next time.
const LIVING: (Duration, usize) = (Duration::from_secs(1), 16);
/// Files of one user other than the asker and root.
const OF_A_STRANGER: usize = 256;

/// What is registered: called before each listing, it answers only if something changed since.
pub type Registered = Box<dyn FnMut() -> Option<Vec<Arc<Counterset>>> + Send>;

/// Serves the countersets that programs publish, and those that are registered, whether somebody publishes them or not.
///
/// Whose instances: those of programs of root and of this user; of everybody where that is asked for, whose names then
/// begin with the number of their user and `/`. A counterset is known by its registration, else by what the programs
/// say that publish it: the first one decides, and one that says otherwise is left out. What the catalogue or a
/// registration has, GUID and name, cannot be taken.
pub struct Applications {
    folders: Vec<Folder>,
    asker: Asker,
    files: Vec<Kept>,
    definitions: Definitions,
    registered: Registered,
    known: Vec<Arc<Counterset>>,
    sets: BTreeMap<Guid, Served>,
    catalogue: Arc<Catalogue>,
    /// Files that are not used, and why.
    refused: BTreeMap<PathBuf, Refused>,
    /// What was left out of files that are.
    left_out: Vec<(PathBuf, Refused)>,
    /// Those of the last collection, in memory that is kept.
    counters: Wanted,
    /// The machine's name, for callbacks.
    machine: Arc<[u16]>,
    asks: Asks,
    /// Collections whose programs were asked already, each with its counterset and the end of waiting.
    begun: Vec<(u64, Guid, Instant)>,
    /// When it was last seen which programs live, and with which the next time begins.
    seen: Option<Instant>,
    next_seen: usize,
}

impl fmt::Debug for Applications {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Applications").field("files", &self.files).finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct Kept {
    file: ProgramFile,
    folder: usize,
    name: String,
    asking: Asking,
    /// By definition: its instances.
    indexes: HashMap<usize, Index>,
    is_gone: bool,
    /// Whether it defined something while it was asked, of which nothing is served yet.
    has_new: bool,
}

/// A counterset, and the files that publish it: which, and which of its definitions that is.
#[derive(Debug)]
struct Served {
    set: Arc<Counterset>,
    files: Vec<(usize, usize)>,
}

impl Applications {
    /// Those whose files are in these folders: of root and this user, or of everybody.
    #[must_use]
    pub fn new(folders: &Folders, everybody: bool, registered: Registered) -> Self {
        let asker = Asker {
            user: rustix::process::geteuid().as_raw(),
            everybody,
            namespace: process::namespace(),
            boot_id: process::boot_id(),
        };
        Self {
            folders: folders.to_read(everybody).into_iter().map(Folder::new).collect(),
            asker,
            files: Vec::new(),
            definitions: Definitions::default(),
            registered,
            known: Vec::new(),
            sets: BTreeMap::new(),
            catalogue: Arc::new(Catalogue { origin: "applications".into(), countersets: Vec::new() }),
            refused: BTreeMap::new(),
            left_out: Vec::new(),
            counters: Wanted::default(),
            machine: rustix::system::uname().nodename().to_string_lossy().encode_utf16().collect(),
            asks: Asks::new(Deadline::default()),
            begun: Vec::new(),
            seen: None,
            next_seen: 0,
        }
    }

    /// Returns the same with another deadline than the usual one for the answers of programs.
    #[must_use]
    pub fn within(mut self, deadline: &Deadline) -> Self {
        self.asks = Asks::new(deadline.clone());
        self
    }

    /// As another user would see a folder.
    #[cfg(test)]
    pub(crate) fn of_user(folder: &std::path::Path, user: u32, everybody: bool) -> Self {
        let mut this = Self::new(&Folders::only(folder), everybody, Box::new(|| None));
        this.asker.user = user;
        this
    }

    /// Looks for programs that came and went, and for what they publish; true if something changed.
    fn refresh(&mut self) -> bool {
        self.see_who_lives();
        let gone: Vec<usize> =
            self.files.iter().filter(|kept| kept.is_gone).map(|kept| kept.folder).collect();
        self.files.retain(|kept| !kept.is_gone);
        let mut changed = !gone.is_empty();
        for at in gone {
            self.doubt(at); // it may be there all the same: it could not be asked
        }
        for at in 0..self.folders.len() {
            changed |= self.list(at);
        }
        for Kept { file, has_new, .. } in &mut self.files {
            changed |= file.refresh(&mut self.definitions) | std::mem::take(has_new);
        }
        if let Some(known) = (self.registered)() {
            self.known = known;
            changed = true;
        }
        changed
    }

    /// Marks files whose programs are dead: some of them, unless that was done just now.
    fn see_who_lives(&mut self) {
        let (pause, most) = LIVING;
        if self.seen.is_some_and(|seen| seen.elapsed() < pause) {
            return;
        }
        self.seen = Some(Instant::now());
        let files = self.files.iter_mut().skip(self.next_seen).take(most);
        self.next_seen = if files.len() < most { 0 } else { self.next_seen.saturating_add(most) };
        for kept in files {
            kept.is_gone |= !kept.file.is_alive(&self.asker);
        }
    }

    /// Lists a folder if it changed; true if files came or went.
    fn list(&mut self, at: usize) -> bool {
        let Some(folder) = self.folders.get_mut(at) else { return false };
        let is_trusted = |user: u32| user == 0 || user == self.asker.user;
        let Some(listing) = folder.changed(is_trusted) else { return false };
        let path = folder.path.clone();
        let opened = listing.and_then(|listing| {
            let folder = if listing.names.is_empty() { None } else { Some(folder.open()?) };
            Ok((listing, folder))
        });
        self.refused.retain(|refused, _| !refused.starts_with(&path));
        let (listing, folder) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                let refused = Refused::io("cannot be listed")(error);
                if refused.is_shortage() {
                    self.doubt(at);
                }
                self.refused.insert(path, refused);
                return false;
            }
        };
        if listing.is_cut {
            let what = "it has more files than are looked at";
            self.refused.insert(path.clone(), Refused::Kind(what));
        }
        let before = self.files.len();
        let there: HashSet<&str> = listing.names.iter().map(String::as_str).collect();
        self.files.retain(|kept| kept.folder != at || there.contains(&*kept.name));
        let mut changed = self.files.len() != before;
        let had: HashSet<String> =
            self.files.iter().filter(|kept| kept.folder == at).map(|kept| kept.name.clone()).collect();
        let mut of_user: HashMap<u32, usize> = HashMap::new();
        for kept in &self.files {
            let count = of_user.entry(kept.file.user).or_default();
            *count = count.saturating_add(1);
        }
        let mut is_short = false;
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let kept = usize::try_from(limit / KEPT).unwrap_or(usize::MAX);
        for name in listing.names.into_iter().filter(|name| !had.contains(name)) {
            let Some(folder) = &folder else { break };
            let keep = self.files.len() < kept;
            let has_room =
                |user| is_trusted(user) || of_user.get(&user).is_none_or(|count| *count < OF_A_STRANGER);
            let definitions = &mut self.definitions;
            let file =
                ProgramFile::open(folder.as_fd(), &path, &name, &self.asker, keep, has_room, definitions);
            match file {
                Ok(file) => {
                    let count = of_user.entry(file.user).or_default();
                    *count = count.saturating_add(1);
                    changed = true;
                    self.files.push(Kept {
                        asking: Asking::new(&file),
                        file,
                        folder: at,
                        name,
                        indexes: HashMap::new(),
                        is_gone: false,
                        has_new: false,
                    });
                }
                Err(Refused::Dead) => {} // its user's next program takes it away
                Err(refused) => {
                    is_short |= refused.is_shortage();
                    self.refused.insert(path.join(&name), refused);
                }
            }
        }
        if is_short {
            self.doubt(at);
        }
        changed
    }

    /// Has a folder listed next time, whether it changed or not.
    fn doubt(&mut self, at: usize) {
        if let Some(folder) = self.folders.get_mut(at) {
            folder.doubt();
        }
    }

    /// Which counterset is whose: registrations first, then root's programs, this user's, others'; older ones first.
    fn rebuild(&mut self) {
        let user = self.asker.user;
        self.files.sort_by_key(|kept| {
            let whose = (kept.file.user != 0, kept.file.user != 0 && kept.file.user != user);
            (whose, kept.file.header.created, kept.file.header.id)
        });
        let mut sets: BTreeMap<Guid, Served> = BTreeMap::new();
        let mut names: HashMap<Folded, Guid> = HashMap::new();
        for set in catalogue::ALL {
            names.insert(folded(&set.name), set.guid);
        }
        for set in &self.known {
            names.insert(folded(&set.name), set.guid);
            sets.insert(set.guid, Served { set: Arc::clone(set), files: Vec::new() });
        }
        self.left_out.clear();
        for (at, Kept { file, .. }) in self.files.iter().enumerate() {
            for (number, set) in file.definitions() {
                match place(set, &sets, &names) {
                    Ok(()) => {}
                    Err(why) => {
                        self.left_out.push((file.path.clone(), Refused::Counterset(why)));
                        continue;
                    }
                }
                names.entry(folded(&set.name)).or_insert(set.guid);
                let served = sets
                    .entry(set.guid)
                    .or_insert_with(|| Served { set: Arc::clone(set), files: Vec::new() });
                served.files.push((at, number));
            }
        }
        let countersets: Vec<_> = sets.values().map(|served| Arc::clone(&served.set)).collect();
        self.sets = sets;
        if !same(&countersets, &self.catalogue.countersets) {
            self.catalogue = Arc::new(Catalogue { origin: "applications".into(), countersets });
        }
    }

    /// Calls `each` with every file that publishes a counterset and whose program lives, and with the number of its
    /// definition. It answers whether it found instances.
    fn living(&mut self, guid: &Guid, mut each: impl FnMut(&mut Kept, usize, &mut Asks) -> bool) {
        let Self { files, sets, asker, asks, .. } = self;
        let Some(served) = sets.get(guid) else { return };
        for (at, number) in &served.files {
            let Some(kept) = files.get_mut(*at) else { continue };
            kept.is_gone |= !kept.file.is_alive(asker);
            if kept.is_gone {
                continue;
            }
            let found = each(kept, *number, asks);
            // Of a counterset with one instance, the program's that started first and has it.
            let is_single = served.set.instance_type == InstanceType::Single;
            if is_single && (found || kept.has_instances(*number)) {
                break;
            }
        }
    }
}

/// A counterset's name, so that two are equal if whoever asks for one gets the other.
type Folded = Box<[u16]>;

fn folded(name: &str) -> Folded {
    name.encode_utf16().map(utf16::upper).collect()
}

/// Whether a counterset may be what it says.
fn place(
    set: &Counterset,
    sets: &BTreeMap<Guid, Served>,
    names: &HashMap<Folded, Guid>,
) -> Result<(), String> {
    let shown = || format!("\"{}\" {}", set.name, set.guid);
    if catalogue::by_guid(set.guid).is_some() {
        return Err(format!("{}: its GUID is one of the catalogue's", shown()));
    }
    if let Some(served) = sets.get(&set.guid) {
        return if agree(&served.set, set) {
            Ok(())
        } else {
            Err(format!(
                "{}: it has other counters than \"{}\", which has its GUID",
                shown(),
                served.set.provider.name
            ))
        };
    }
    if set.name.is_empty() {
        return Err(format!("{}: it has no name and is not registered", shown()));
    }
    match names.get(&folded(&set.name)) {
        Some(other) => Err(format!("{}: its name is that of {other}", shown())),
        None => Ok(()),
    }
}

/// Whether these are the same countersets.
fn same(one: &[Arc<Counterset>], other: &[Arc<Counterset>]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| Arc::ptr_eq(a, b) || a == b)
}

impl Provider for Applications {
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

    fn begin(&mut self, want: &Want<'_>, until: Instant) {
        // Others were announced, and did not come.
        self.begun.retain(|(collection, ..)| *collection == want.collection);
        self.ask(want);
        self.begun.push((want.collection, want.counterset.guid, until));
    }

    fn collect(&mut self, want: &Want<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        let machine = Arc::clone(&self.machine);
        let guid = want.counterset.guid;
        let is_this = |begun: &&(u64, Guid, Instant)| (begun.0, begun.1) == (want.collection, guid);
        let until = match self.begun.iter().find(is_this) {
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
        self.living(&guid, |kept, number, asks| {
            let status = kept.status(What::CollectStart, guid);
            if !status.is_success() {
                refused = status;
                return false;
            }
            let Some(set) = kept.file.definition(number) else { return false };
            let before = rows.len();
            counters.find(set, want.counters, rows);
            kept.collect(number, wanted, &counters, rows);
            if kept.file.has_socket() {
                kept.asking.about_machine(What::CollectEnd, guid, &machine, asks);
                if kept.asking.is_late() {
                    rows.set_late();
                }
            }
            rows.len() > before
        });
        self.wait(until);
        self.counters = counters;
        unless_refused(refused, rows)
    }

    fn origin(&mut self, counterset: &Guid) -> Option<Text> {
        let served = self.sets.get(counterset)?;
        let mut files = served.files.iter().filter_map(|(at, _)| self.files.get(*at));
        let Some(Kept { file, .. }) = files.next() else {
            return Some(format!("registered by {}", served.set.provider.name).into());
        };
        let process = &file.header.process;
        let first = format!("{}[{}] user {}", process.program, process.pid, file.user);
        Some(match files.count() {
            0 => first.into(),
            more => format!("{first} and {more} more").into(),
        })
    }

    fn about(&mut self) -> Vec<(Text, Text)> {
        let topic = || Text::from("applications");
        let sets = self.sets.values().filter(|served| !served.files.is_empty()).count();
        let what =
            format!("{} publish {}", counted(self.files.len(), "program"), counted(sets, "counterset"));
        let mut said = vec![(topic(), what.into())];
        let others = self.refused.values().filter(|why| matches!(why, Refused::Stranger { .. })).count();
        if others > 0 {
            said.push((topic(), format!("{} of other users not asked for", counted(others, "file")).into()));
        }
        said
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
        const MOST: usize = 10;
        let refused = self.refused.iter().filter(|(_, why)| !matches!(why, Refused::Stranger { .. }));
        let left_out = self.left_out.iter().map(|(path, why)| (path, why));
        let damage = self.files.iter().flat_map(|kept| kept.file.damage().map(|why| (&kept.file.path, why)));
        let all = refused.chain(left_out).chain(damage);
        all.take(MOST).map(|(path, why)| format!("{}: {why}", path.display()).into()).collect()
    }
}

/// What was read, unless all that there is was refused.
fn unless_refused(refused: Status, rows: &Rows) -> Result<(), SourceError> {
    if refused.is_success() || !rows.is_empty() { Ok(()) } else { Err(SourceError::Refused(refused)) }
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// The counters that a collection is for, those that there are values of.
#[derive(Debug, Default)]
struct Wanted {
    /// Their columns, ascending.
    columns: Vec<usize>,
    /// Where their values are among those of an instance.
    places: Vec<usize>,
    /// Their places, if they are all columns and follow each other.
    run: Option<Range<usize>>,
    /// Columns of counters that refer to their values.
    referenced: Vec<(usize, CounterId)>,
}

impl Wanted {
    /// Becomes those of a counterset; says of the others why they have no value.
    fn find(&mut self, set: &Counterset, wanted: &[CounterId], rows: &mut Rows) {
        self.columns.clear();
        self.places.clear();
        self.referenced.clear();
        let mut next = 0;
        for (column, id) in wanted.iter().enumerate() {
            // As a rule they are wanted in their order.
            let rest = set.counters.get(next..).unwrap_or_default();
            let found = rest.iter().position(|counter| counter.id == *id).map(|at| at.saturating_add(next));
            let found = found.or_else(|| set.counters.iter().position(|counter| counter.id == *id));
            let counter = found.and_then(|at| Some((at, set.counters.get(at)?)));
            match counter {
                None => {
                    let reason = "the program does not publish it";
                    rows.none_in_column(column, NoValue::Unavailable(reason.into()));
                }
                Some((_, counter)) if counter.attributes.contains(Attributes::BY_REFERENCE) => {
                    let reason = "the program gives it by reference, and cannot be asked";
                    rows.none_in_column(column, NoValue::Unavailable(reason.into()));
                    self.referenced.push((column, counter.id));
                }
                Some((at, _)) => {
                    next = at.saturating_add(1);
                    self.columns.push(column);
                    self.places.push(at);
                }
            }
        }
        let first = self.places.first().copied().unwrap_or(0);
        let run = first..first.saturating_add(wanted.len());
        self.run = self.places.iter().copied().eq(run.clone()).then_some(run);
    }
}

impl Kept {
    /// Whether there are instances now.
    fn has_instances(&mut self, number: usize) -> bool {
        if let Bytes::Copied = self.file.bytes {
            let mut has_some = false;
            self.each_copied(number, &mut |_, _| has_some = true);
            return has_some;
        }
        let index = self.indexes.entry(number).or_default();
        self.file.index(number, index, None);
        !index.rows().is_empty()
    }

    /// Adds a row without values for each instance.
    fn list(&mut self, number: usize, rows: &mut Rows) {
        let file_id = self.file.header.id;
        rows.set_owner(self.file.owner());
        if let Bytes::Copied = self.file.bytes {
            return self.each_copied(number, &mut |name, copied| {
                let birth = birth(copied.sequence, file_id);
                rows.push_units(name.iter().copied(), InstanceId(copied.id), birth);
            });
        }
        let index = self.indexes.entry(number).or_default();
        self.file.index(number, index, None);
        for indexed in index.rows() {
            rows.push_of(index.names(), indexed.name, indexed.birth(file_id));
        }
    }

    /// Calls `each` with all instances of a file that is copied. Their names begin with the user.
    fn each_copied(&self, number: usize, each: &mut dyn FnMut(&[u16], &Copied<'_>)) {
        let Some(set) = self.file.definition(number) else { return };
        let Ok(file) = self.file.file() else { return };
        let user: Vec<u16> = format!("{}/", self.file.user).encode_utf16().collect();
        let mut name = Vec::new();
        for (_, of) in self.file.instances(number) {
            let read = copied::instances(file.as_fd(), of.at, of.len, of.shape, &set.guid, &mut |copied| {
                name.clear();
                name.extend_from_slice(&user);
                name.extend_from_slice(&copied.name);
                each(&name, copied);
            });
            if read.is_err() {
                break; // it is gone
            }
        }
    }

    /// Adds a row for each wanted instance, with the values that its counters have at those places.
    fn collect(
        &mut self,
        number: usize,
        wanted: Option<&InstanceFilters>,
        counters: &Wanted,
        rows: &mut Rows,
    ) {
        let file_id = self.file.header.id;
        rows.set_owner(self.file.owner());
        let of_file = rows.totals_at_100ns().map(|now_100ns| time_of(self.file.header.created, now_100ns));
        rows.set_began(of_file);
        if let Bytes::Copied = self.file.bytes {
            return self.each_copied(number, &mut |name, copied| {
                let id = InstanceId(copied.id);
                if !wanted.is_none_or(|wanted| wanted.wants(name.iter().copied(), id)) {
                    return;
                }
                let mut row = rows.push_units(name.iter().copied(), id, birth(copied.sequence, file_id));
                for (column, place) in counters.columns.iter().zip(&counters.places) {
                    match copied.value(*place) {
                        Some(value) => row.set(*column, value),
                        None => row.none(*column, NoValue::Failed("it changes too fast to be read".into())),
                    }
                }
            });
        }
        let index = self.indexes.entry(number).or_default();
        self.file.index(number, index, rows.totals_at_100ns());
        let referenced = match self.file.definition(number).filter(|_| self.file.has_socket()) {
            Some(set) => self.asking.referenced(set.guid),
            None => Referenced::Nobody,
        };
        for run in index.rows().chunk_by(|one, next| one.segment == next.segment) {
            let segment = run.first().and_then(|indexed| self.file.segment(indexed.segment));
            let Some(segment) = segment else { continue };
            for indexed in run {
                if wanted.is_none_or(|wanted| index.is_wanted(indexed, wanted)) {
                    if of_file.is_some() {
                        rows.set_began(of_file.max(indexed.began_100ns));
                    }
                    add(&segment, index, indexed, file_id, counters, &referenced, rows);
                }
            }
        }
    }
}

/// A time of CLOCK_MONOTONIC in terms of PerfTime100NSec, which was that when this collection began.
fn time_of(monotonic_ns: u64, now_100ns: u64) -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let [seconds, nanoseconds] = [now.tv_sec, now.tv_nsec].map(|part| u64::try_from(part).unwrap_or(0));
    let now_ns = seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds);
    now_100ns.saturating_sub(now_ns.saturating_sub(monotonic_ns) / 100)
}

/// Adds a row for an instance, if it is there all the time.
#[inline]
fn add(
    segment: &Segment<'_>,
    index: &Index,
    indexed: &Indexed,
    file_id: [u64; 2],
    counters: &Wanted,
    referenced: &Referenced<'_>,
    rows: &mut Rows,
) {
    let Some(word) = segment.sequence(indexed.slot) else { return };
    if word.load(Acquire) != indexed.sequence {
        return; // it went, or its slot has another one now
    }
    let (names, name, birth) = (index.names(), indexed.name, indexed.birth(file_id));
    let value = |place| segment.value(indexed.slot, place);
    if let Some(places) = &counters.run {
        match segment.values(indexed.slot, places) {
            Some(words) => rows.push_values(names, name, birth, words.iter().map(|word| word.load(Relaxed))),
            None => rows.push_values(names, name, birth, places.clone().map(value)),
        }
    } else {
        let mut row = rows.push_of(names, name, birth);
        for (column, place) in counters.columns.iter().zip(&counters.places) {
            row.set(*column, value(*place));
        }
        for (column, counter) in &counters.referenced {
            match asking::value(referenced, indexed.sequence, *counter) {
                Ok((value, None)) => row.set(*column, value.get()),
                Ok((value, Some(mark))) => row.set_marked(*column, value.get(), mark),
                Err(reason) => row.none(*column, reason),
            }
        }
    }
    fence(Acquire);
    if word.load(Relaxed) != indexed.sequence {
        rows.pop();
    }
}
