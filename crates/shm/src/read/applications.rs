//! What all programs publish, as one provider.

use std::collections::{BTreeMap, HashMap, HashSet, hash_map};
use std::fmt;
use std::ops::Range;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use perfset_core::likeness::likeness;
use perfset_core::{
    Attributes, CounterId, Counterset, Guid, InstanceId, InstanceType, NoValue, Status, Text, catalogue,
};
use perfset_engine::{
    Catalogue, Change, Entry, InstanceFilter, InstanceFilters, Provider, Row, Rows, SourceError, Want,
};
use rustix::process::{Resource, getrlimit};

use super::asking::{self, Asking, Referenced};
use super::budget::Budget;
use super::copied::{self, Copied};
use super::file::{Asker, Bytes, Definitions, ProgramFile};
use super::folder::Folder;
use super::index::{Index, Indexed, Segment, birth};
use super::loading;
use super::table::Refused;
use crate::callback::What;
use crate::folder::Folders;
use crate::merge::{Fit, LeftOut, Part, merge};
use crate::process;

mod scope;

use scope::Rationed;

/// Of the descriptors that this process may have one in so many is kept for a file: other files are opened each time
/// that they are asked for, which costs two to three times as much.
const KEPT: u64 = 4;
/// So often it is seen whether some programs live whose countersets are listed and not collected: a folder does not
/// change when a program dies. And so many: the next ones come next time.
const LIVING: (Duration, usize) = (Duration::from_secs(1), 16);
/// Files of one user other than the asker and root.
pub(super) const OF_A_STRANGER: usize = 256;

/// What is registered: called before each listing, it answers only if something changed since.
pub type Registered = Box<dyn FnMut() -> Option<Vec<Arc<Counterset>>> + Send>;

/// Serves the countersets that programs publish, and those that are registered, whether somebody publishes them or not.
///
/// Whose instances: those of programs of root and of this user. Root, and members of the group of a directory that users
/// share, see those of all users; so does who asks for them. The names of these begin with the number of their user and
/// `/`, and their files are read within limits for all of them together. A counterset is known by its registration and
/// by what the programs say that publish it, [all together](crate::merge): a program that means something else by a
/// counter goes without that counter. What the catalogue or a registration has, GUID and name, cannot be taken.
pub struct Applications {
    places: Folders,
    folders: Vec<Folder>,
    /// Time at which directories were last looked for, and those that are not what their names say.
    looked: Option<Instant>,
    not_folders: Vec<(PathBuf, Refused)>,
    asker: Asker,
    /// Groups whose shared directories show the files of all users.
    groups: Vec<u32>,
    files: Vec<Kept>,
    definitions: Definitions,
    registered: Registered,
    known: Vec<Arc<Counterset>>,
    sets: BTreeMap<Guid, Served>,
    catalogue: Arc<Catalogue>,
    /// Files that are not used, and why.
    refused: BTreeMap<PathBuf, Refused>,
    /// What is left out of files that are: by file, of one counterset, and which counterset is shown instead.
    left_out: Vec<(PathBuf, Guid, Vec<LeftOut>)>,
    /// What is shown otherwise than its program says it.
    renamed: Vec<(PathBuf, Guid, String)>,
    /// Those of the last collection, in memory that is kept.
    counters: Wanted,
    /// The machine's name, for callbacks.
    machine: Arc<[u16]>,
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
pub(super) struct Kept {
    pub file: ProgramFile,
    folder: usize,
    name: String,
    asking: Asking,
    /// By definition: its instances.
    pub indexes: HashMap<usize, Index>,
    /// Of a file of another user, by definition: its instances within the limit.
    shares: HashMap<usize, Rationed>,
    /// Places of the values that are loaded; none: all.
    pub places: Vec<usize>,
    /// Whether they are still to be loaded in this collection.
    pub is_to_load: bool,
    pub is_gone: bool,
    /// Whether it defined something while it was asked, of which nothing is served yet.
    pub has_new: bool,
}

/// A counterset, and the files that publish it.
#[derive(Debug)]
struct Served {
    set: Arc<Counterset>,
    files: Vec<Publishing>,
}

/// A file that publishes a counterset.
#[derive(Debug)]
struct Publishing {
    file: usize,
    /// The number of the definition there.
    number: usize,
    fit: Arc<Fit>,
}

impl Applications {
    /// Those whose files are in these folders: of root and this user, or of everybody. Root sees everybody's anyway.
    #[must_use]
    pub fn new(folders: &Folders, everybody: bool, registered: Registered) -> Self {
        let user = rustix::process::geteuid().as_raw();
        let asker = Asker {
            user,
            everybody: everybody || scope::sees_everybody(user),
            budget: Budget::of_process(),
            namespace: process::namespace(),
            time_namespace: process::time_namespace("self"),
            boot_id: process::boot_id(),
        };
        Self {
            places: folders.clone(),
            folders: Vec::new(),
            looked: None,
            not_folders: Vec::new(),
            asker,
            groups: scope::groups(),
            files: Vec::new(),
            definitions: Definitions::default(),
            registered,
            known: Vec::new(),
            sets: BTreeMap::new(),
            catalogue: Arc::new(Catalogue { origin: "applications".into(), countersets: Vec::new() }),
            refused: BTreeMap::new(),
            left_out: Vec::new(),
            renamed: Vec::new(),
            counters: Wanted::default(),
            machine: rustix::system::uname().nodename().to_string_lossy().encode_utf16().collect(),
            seen: None,
            next_seen: 0,
        }
    }

    /// Looks for programs that came and went, and for what they publish; true if something changed.
    fn refresh(&mut self) -> bool {
        self.look_for_folders();
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
        loading::look_at_all(&mut self.files);
        for Kept { file, has_new, .. } in &mut self.files {
            changed |= file.refresh(&mut self.definitions) | std::mem::take(has_new);
        }
        if changed {
            self.files.iter_mut().for_each(Kept::announce);
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
        let asker = Asker {
            everybody: self.asker.everybody
                || folder.as_ref().is_some_and(|folder| self.is_our_groups(folder)),
            ..self.asker.clone()
        };
        let mut is_short = false;
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let kept = usize::try_from(limit / KEPT).unwrap_or(usize::MAX);
        for name in listing.names.into_iter().filter(|name| !had.contains(name)) {
            let Some(folder) = &folder else { break };
            let keep = self.files.len() < kept;
            let has_room =
                |user| is_trusted(user) || of_user.get(&user).is_none_or(|count| *count < OF_A_STRANGER);
            let definitions = &mut self.definitions;
            let file = ProgramFile::open(folder.as_fd(), &path, &name, &asker, keep, has_room, definitions);
            match file {
                Ok(file) => {
                    let count = of_user.entry(file.user).or_default();
                    *count = count.saturating_add(1);
                    changed = true;
                    self.files.push(Kept {
                        file,
                        folder: at,
                        name,
                        asking: Asking::default(),
                        indexes: HashMap::new(),
                        shares: HashMap::new(),
                        places: Vec::new(),
                        is_to_load: false,
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
        let mut names: HashMap<String, (Guid, &str)> = HashMap::new();
        for set in catalogue::ALL {
            names.insert(likeness(&set.name), (set.guid, "which is built in"));
        }
        // By GUID: its registration, and the definitions of programs.
        type Said<'a> = (Option<&'a Arc<Counterset>>, Vec<(usize, usize)>);
        let mut said: BTreeMap<Guid, Said<'_>> = BTreeMap::new();
        for set in &self.known {
            names.insert(likeness(&set.name), (set.guid, "which is registered"));
            said.insert(set.guid, (Some(set), Vec::new()));
        }
        self.left_out.clear();
        self.renamed.clear();
        // Templates, which have no name, come last: they are of what others registered or named.
        for has_name in [true, false] {
            for (at, Kept { file, .. }) in self.files.iter().enumerate() {
                for (number, set) in file.definitions().filter(|(_, set)| set.name.is_empty() != has_name) {
                    match place(set, said.contains_key(&set.guid), &mut names) {
                        Ok(()) => said.entry(set.guid).or_default().1.push((at, number)),
                        Err((shown, why)) => {
                            let all = vec![LeftOut::all_of(set, why)];
                            self.left_out.push((file.path.clone(), shown, all));
                        }
                    }
                }
            }
        }
        let mut sets: BTreeMap<Guid, Served> = BTreeMap::new();
        for (guid, (registered, mut definitions)) in said {
            definitions.sort_unstable();
            let definition = |(at, number): &(usize, usize)| {
                let file = &self.files.get(*at)?.file;
                let is_trusted = file.user == 0 || file.user == user;
                Some((file, Part { set: file.definition(*number)?, by: file.program(), is_trusted }))
            };
            let (files, parts): (Vec<_>, Vec<_>) = definitions.iter().filter_map(definition).unzip();
            let Some(merged) = merge(registered, &parts) else { continue };
            let mut publishing = Vec::new();
            for (((file, number), fit), (program, part)) in
                definitions.iter().zip(merged.fits).zip(files.iter().zip(&parts))
            {
                let mut leave = |all: Vec<LeftOut>| self.left_out.push((program.path.clone(), guid, all));
                match fit {
                    Ok(fit) => {
                        let left_out = fit.left_out(part.set);
                        if !left_out.is_empty() {
                            leave(left_out);
                        }
                        let renamed = fit.renamed.iter().map(|text| {
                            let text = format!("counterset \"{}\" {guid}: {text}", part.set.name);
                            (program.path.clone(), guid, text)
                        });
                        self.renamed.extend(renamed);
                        publishing.push(Publishing { file: *file, number: *number, fit });
                    }
                    Err(why) => leave(vec![LeftOut::all_of(part.set, why)]),
                }
            }
            // What is as it was stays the same one: whoever compares two readings of it sees that.
            let before = self.sets.remove(&guid).map(|served| served.set).filter(|set| **set == *merged.set);
            let set = before.unwrap_or(merged.set);
            sets.insert(guid, Served { set, files: publishing });
        }
        let countersets: Vec<_> = sets.values().map(|served| Arc::clone(&served.set)).collect();
        self.sets = sets;
        if !same(&countersets, &self.catalogue.countersets) {
            self.catalogue = Arc::new(Catalogue { origin: "applications".into(), countersets });
        }
    }

    /// Loads the values of a counterset from all files that publish it, but for those whose programs are asked first.
    fn load(&mut self, want: &Want<'_>, now_100ns: Option<u64>) {
        let Self { files, sets, definitions, .. } = self;
        let Some(served) = sets.get(&want.counterset.guid) else { return };
        let prepare =
            |kept: &mut Kept, number: usize| kept.prepare(number, want.counters, definitions, now_100ns);
        let place = |publishing: &Publishing| (publishing.file, publishing.number);
        loading::load(files, &served.files, place, false, prepare);
    }

    /// Calls `each` with every file that publishes a counterset and whose program lives, and with the number of its
    /// definition and how that fits. It answers whether it found instances.
    fn living(
        &mut self,
        guid: &Guid,
        mut each: impl FnMut(&mut Kept, usize, &Fit, &mut Definitions) -> bool,
    ) {
        let Self { files, sets, asker, definitions, .. } = self;
        let Some(served) = sets.get(guid) else { return };
        for Publishing { file, number, fit } in &served.files {
            let Some(kept) = files.get_mut(*file) else { continue };
            kept.is_gone |= !kept.file.is_alive(asker);
            if kept.is_gone || kept.file.is_lost() {
                continue;
            }
            let found = each(kept, *number, fit, definitions);
            // Of a counterset with one instance, the program's that started first and has it.
            let is_single = served.set.instance_type == InstanceType::Single;
            if is_single && (found || kept.has_instances(*number)) {
                break;
            }
        }
    }
}

/// Whether a counterset may be what it says; if not, which one is there instead, and why.
fn place(
    set: &Counterset,
    is_known: bool,
    names: &mut HashMap<String, (Guid, &str)>,
) -> Result<(), (Guid, String)> {
    if catalogue::by_guid(set.guid).is_some() {
        return Err((set.guid, "its GUID is one of the catalogue's".to_owned()));
    }
    if is_known {
        return Ok(());
    }
    let name = likeness(&set.name);
    if name.is_empty() {
        let what = if set.name.is_empty() { "no name" } else { "a name that shows nothing" };
        return Err((set.guid, format!("it has {what} and is not registered")));
    }
    match names.entry(name) {
        hash_map::Entry::Occupied(other) => {
            let (other, whose) = other.get();
            Err((*other, format!("its name is that of {other}, {whose}")))
        }
        hash_map::Entry::Vacant(free) => {
            free.insert((set.guid, "which a program published before"));
            Ok(())
        }
    }
}

/// Whether these are the same countersets.
fn same(one: &[Arc<Counterset>], other: &[Arc<Counterset>]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| Arc::ptr_eq(a, b) || a == b)
}

impl Applications {
    /// Returns what is left out of a file.
    pub(crate) fn left_out_of(&mut self, path: &Path) -> Vec<LeftOut> {
        let behind = self.behind_others();
        let parts = self.left_out.iter().chain(&behind);
        parts.filter(|(of, ..)| of == path).flat_map(|(.., parts)| parts.iter().cloned()).collect()
    }

    /// Returns what is not seen now of countersets that have one instance, because another program's is.
    fn behind_others(&mut self) -> Vec<(PathBuf, Guid, Vec<LeftOut>)> {
        let mut behind = Vec::new();
        let Self { files, sets, asker, .. } = self;
        for (guid, Served { set, files: publishing }) in sets.iter() {
            if set.instance_type != InstanceType::Single || publishing.len() < 2 {
                continue;
            }
            let mut shown: Option<String> = None;
            for Publishing { file, number, .. } in publishing {
                let Some(kept) = files.get_mut(*file) else { continue };
                if !kept.file.is_alive(asker) || !kept.has_instances(*number) {
                    continue;
                }
                match &shown {
                    None => shown = Some(kept.file.program()),
                    Some(other) => {
                        let why = format!(
                            "it has one instance, and that of {other}, which began earlier, is shown"
                        );
                        behind.push((kept.file.path.clone(), *guid, vec![LeftOut::all_of(set, why)]));
                    }
                }
            }
        }
        behind
    }
}

impl Provider for Applications {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        if self.refresh() {
            self.rebuild();
        }
        Ok(Arc::clone(&self.catalogue))
    }

    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        let machine = Arc::clone(&self.machine);
        let mut refused = Status::ERROR_SUCCESS;
        self.living(counterset, |kept, number, _, definitions| {
            let before = rows.len();
            match kept.ask(What::EnumInstances, &machine, definitions) {
                Status::ERROR_SUCCESS => kept.list(number, rows),
                status => refused = status,
            }
            rows.len() > before
        });
        unless_refused(refused, rows)
    }

    fn entry(&mut self, change: Change, entry: &Entry) -> Status {
        let machine = Arc::clone(&self.machine);
        let mut answer = Status::ERROR_SUCCESS;
        self.living(&entry.counterset, |kept, _, fit, _| {
            // Of a counter that it does not have a program knows nothing, and refuses nothing to others.
            let of_it =
                entry.counters.ids().map(|ids| ids.iter().copied().filter(|id| fit.place(*id).is_ok()));
            let of_it = of_it.map(|ids| Entry {
                instance: entry.instance.clone(),
                instance_id: entry.instance_id,
                ..Entry::several(entry.counterset, ids)
            });
            let entry = of_it.as_ref().unwrap_or(entry);
            if entry.counters.ids().is_some_and(<[CounterId]>::is_empty) {
                return false;
            }
            let status = kept.asking.about_entry(&kept.file, change, entry, &machine);
            if answer.is_success() {
                answer = status;
            }
            false
        });
        answer
    }

    fn collect(&mut self, want: &Want<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        let machine = Arc::clone(&self.machine);
        let mut refused = Status::ERROR_SUCCESS;
        let mut counters = std::mem::take(&mut self.counters);
        let is_any = want.instances.iter().any(InstanceFilter::is_any);
        let wanted = (!is_any).then_some(want.instances);
        self.load(want, rows.totals_at_100ns());
        self.living(&want.counterset.guid, |kept, number, fit, definitions| {
            let status = kept.ask(What::CollectStart, &machine, definitions);
            if !status.is_success() {
                refused = status;
                return false;
            }
            let Some(set) = kept.file.definition(number) else { return false };
            let before = rows.len();
            counters.find(set, fit, want.counters, rows);
            if kept.file.has_socket() {
                // Its program may have counted only now that it was asked.
                let now_100ns = rows.totals_at_100ns();
                let prepare = |kept: &mut Kept, number: usize| {
                    kept.prepare(number, want.counters, definitions, now_100ns);
                };
                loading::load(std::slice::from_mut(kept), &[number], |number| (0, *number), true, prepare);
            }
            kept.collect(number, wanted, &counters, &machine, rows);
            kept.ask(What::CollectEnd, &machine, definitions);
            rows.len() > before
        });
        self.counters = counters;
        unless_refused(refused, rows)
    }

    fn origin(&mut self, counterset: &Guid) -> Option<Text> {
        let served = self.sets.get(counterset)?;
        let mut files = served.files.iter().filter_map(|publishing| self.files.get(publishing.file));
        let Some(Kept { file, .. }) = files.next() else {
            return Some(format!("registered by {}", served.set.provider.name).into());
        };
        let first = format!("{} user {}", file.program(), file.user);
        Some(match files.count() {
            0 => first.into(),
            more => format!("{first} and {more} more").into(),
        })
    }

    fn about(&mut self) -> Vec<(Text, Text)> {
        let sets = self.sets.values().filter(|served| !served.files.is_empty()).count();
        let what =
            format!("{} publish {}", counted(self.files.len(), "program"), counted(sets, "counterset"));
        [what, self.scope()].map(|what| (Text::from("applications"), what.into())).into()
    }

    fn not_shown(&mut self, counterset: Option<&Guid>) -> Vec<Text> {
        self.not_shown(counterset).into_iter().map(Text::from).collect()
    }

    fn problems(&mut self) -> Vec<Text> {
        const MOST: usize = 10;
        let is_told = |why: &Refused| !matches!(why, Refused::Stranger { .. } | Refused::Denied { .. });
        let refused = self.refused.iter().filter(|(_, why)| is_told(why)).map(|(path, why)| (path, why));
        let not_folders = self.not_folders.iter().map(|(path, why)| (path, why));
        let damage = self.files.iter().flat_map(|kept| kept.file.damage().map(|why| (&kept.file.path, why)));
        let unused = not_folders.chain(refused).chain(damage);
        let unused = unused.map(|(path, why)| format!("{}: {why}", path.display()).into());
        let unused: Vec<Text> = unused.take(MOST).collect();
        let mut all: Vec<Text> = self.left_out().into_iter().map(|(_, text)| text).take(MOST).collect();
        all.extend(unused);
        all
    }

    fn left_out(&mut self) -> Vec<(Guid, Text)> {
        let shown = |(path, guid, text): (&PathBuf, &Guid, String)| {
            (*guid, Text::from(format!("{}: {text}", path.display())))
        };
        let behind = self.behind_others();
        let parts = self.left_out.iter().chain(&behind);
        let parts = parts.map(|(path, guid, parts)| (path, guid, LeftOut::text(parts)));
        let renamed = self.renamed.iter().map(|(path, guid, text)| (path, guid, text.clone()));
        parts.chain(renamed).map(shown).collect()
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
    /// Columns of counters by which the program means something else, and the reason.
    left_out: Vec<(usize, NoValue)>,
}

/// Why a counter of the counterset has no value in some of its instances.
const LACKS: NoValue =
    NoValue::Unavailable(Text::Borrowed("the program that publishes this instance has no such counter"));

/// Why there is no value of a counter that refers to it, of a program that is not asked.
const NO_REFERENCE: NoValue =
    NoValue::Unavailable(Text::Borrowed("the program gives it by reference, and cannot be asked"));

impl Wanted {
    /// Becomes those of a program's definition; says of the others why they have no value.
    fn find(&mut self, set: &Counterset, fit: &Fit, wanted: &[CounterId], rows: &mut Rows) {
        self.columns.clear();
        self.places.clear();
        self.referenced.clear();
        self.left_out.clear();
        for (column, id) in wanted.iter().enumerate() {
            let place = fit.place(*id);
            match place.map(|at| (at, set.counters.get(at))) {
                Ok((_, Some(counter))) if counter.attributes.contains(Attributes::BY_REFERENCE) => {
                    self.referenced.push((column, counter.id));
                }
                Ok((at, _)) => {
                    self.columns.push(column);
                    self.places.push(at);
                }
                Err(Some(why)) => self.left_out.push((column, NoValue::Failed(Arc::clone(why)))),
                // Said of the column: there may be many such rows, and nothing else is said of columns here.
                Err(None) => rows.none_in_column(column, LACKS),
            }
        }
        let first = self.places.first().copied().unwrap_or(0);
        let run = first..first.saturating_add(wanted.len());
        self.run = self.places.iter().copied().eq(run.clone()).then_some(run);
    }
}

impl Kept {
    /// Asks its program, which may make instances of it.
    fn ask(&mut self, what: What, machine: &[u16], definitions: &mut Definitions) -> Status {
        if !self.file.has_socket() {
            return Status::ERROR_SUCCESS;
        }
        let status = self.asking.about_machine(&self.file, what, machine);
        self.file.look();
        self.has_new |= self.file.refresh(definitions);
        status
    }

    /// Whether there are instances now.
    fn has_instances(&mut self, number: usize) -> bool {
        if let Bytes::Copied = self.file.bytes {
            let mut has_some = false;
            self.each_copied(number, &mut |_, _| has_some = true);
            return has_some;
        }
        let index = self.indexes.entry(number).or_default();
        self.file.look();
        self.file.index(number, index, None);
        !self.file.is_lost() && !index.rows().is_empty()
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
        self.file.look();
        self.file.index(number, index, None);
        if self.file.is_lost() {
            return;
        }
        for indexed in index.rows() {
            rows.push_of(index.names(), indexed.name, indexed.birth(file_id));
        }
    }

    /// Calls `each` with all instances of a file that is copied. The names of a stranger's begin with the user.
    fn each_copied(&mut self, number: usize, each: &mut dyn FnMut(&[u16], &Copied<'_>)) {
        let Ok(file) = self.file.file() else { return };
        let mut room = self.room(number, file.as_fd());
        let Some(set) = self.file.definition(number) else { return };
        let user: Vec<u16> = self.file.prefix().encode_utf16().collect();
        let mut name = Vec::new();
        for (_, of) in self.file.instances(number) {
            let read = copied::instances(file.as_fd(), of.at, of.len, of.shape, &set.guid, &mut |copied| {
                if room == 0 {
                    return;
                }
                room = room.saturating_sub(1);
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
        machine: &[u16],
        rows: &mut Rows,
    ) {
        let file_id = self.file.header.id;
        rows.set_owner(self.file.owner());
        let now_100ns = rows.totals_at_100ns();
        let created = now_100ns.filter(|_| self.file.has_our_clock);
        let of_file = created.map(|now_100ns| time_of(self.file.header.created, now_100ns));
        rows.set_began(of_file);
        let referenced = match (counters.referenced.is_empty(), self.file.definition(number)) {
            (false, Some(set)) => self.asking.values(&self.file, set.guid, machine),
            _ => None,
        };
        if let Bytes::Copied = self.file.bytes {
            let is_stranger = self.file.is_limited();
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
                refer(&mut row, counters, (!is_stranger).then_some(&referenced), copied.sequence);
            });
        }
        if self.file.is_lost() {
            return;
        }
        let index = self.indexes.entry(number).or_default();
        for run in index.rows().chunk_by(|one, next| one.segment == next.segment) {
            let segment = run.first().and_then(|indexed| self.file.segment(indexed.segment));
            let Some(segment) = segment else { continue };
            for indexed in run {
                if wanted.is_none_or(|wanted| index.is_wanted(indexed, wanted)) {
                    if now_100ns.is_some() {
                        rows.set_began(of_file.max(indexed.began_100ns));
                    }
                    add(segment, index, indexed, file_id, counters, &referenced, rows);
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

/// Fills the cells of counters that refer to values, and of those that are left out. `referenced` is `None` if the program
/// is not asked.
fn refer(row: &mut Row<'_>, counters: &Wanted, referenced: Option<&Referenced>, sequence: u64) {
    for (column, counter) in &counters.referenced {
        match referenced.map_or(Err(NO_REFERENCE), |all| asking::value(all, sequence, *counter)) {
            Ok(value) => row.set(*column, value.get()),
            Err(reason) => row.none(*column, reason),
        }
    }
    for (column, why) in &counters.left_out {
        row.none(*column, why.clone());
    }
}

/// Adds a row for an instance, if it was there all the time while its values were loaded.
#[inline]
fn add(
    segment: &Segment,
    index: &Index,
    indexed: &Indexed,
    file_id: [u64; 2],
    counters: &Wanted,
    referenced: &Referenced,
    rows: &mut Rows,
) {
    if segment.sequence(indexed.slot).is_none_or(|word| word.load(Relaxed) != indexed.sequence) {
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
        refer(&mut row, counters, Some(referenced), indexed.sequence);
    }
}
