//! State of the library in a provider's process: its providers, their countersets, and their instances.
//!
//! One lock protects everything. A fork waits for the lock, so that the child finds consistent data. In the child a
//! provider continues under its handle, with its countersets and without instances.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};

use perfset::counter_type::Size;
use perfset::v2::identity::CounterIdentity;
use perfset::{
    Attributes, CounterFilter, CounterId, Counterset, Guid, InstanceId, InstanceType, Pattern, Status, Utf16,
};
use perfset_shm::Folders;
use perfset_shm::callback::{CallbackReply, ReferencedValue, Server};
use perfset_shm::publish::{CreateError, InstanceBlock, Publisher};

use super::control::{Control, ControlCallback, read_reference};
use crate::wide::{TextLocation, TextUnit, to_utf32};

/// Providers of this process. The lock is not for ever held in a forked process: [`before_fork`] waits for it.
static PROVIDERS: RwLock<Providers> =
    RwLock::new(Providers { providers: BTreeMap::new(), handles: Vec::new() });

#[derive(Debug)]
struct Providers {
    /// Running providers of this process, by their handle.
    providers: BTreeMap<usize, Provider>,
    /// Memory whose addresses serve as provider handles, because some programs write to that address. The memory is
    /// never read, and is no other provider's later.
    handles: Vec<&'static AtomicU64>,
}

#[derive(Debug)]
struct Provider {
    control: Control,
    publisher: Publisher,
    templates: HashMap<Guid, Arc<Template>>,
    own: ProviderState,
    /// Instances and server of the parent process, in a forked process, until the child creates its own.
    inherited: ProviderState,
}

/// Instances and server of a provider in this process alone, without its parent's.
#[derive(Debug, Default)]
struct ProviderState {
    /// Instances of the provider, by the address of their block.
    instances: HashMap<usize, ProviderInstance>,
    /// Addresses of the blocks of instances whose names differ in case at most, by the key that these names share.
    names: HashMap<Key, Vec<usize>>,
    /// Server that responds to requests of consumers.
    server: Option<Server>,
}

/// Key of a provider's instance: a counterset, a name in capitals, and an id.
type Key = (Guid, Box<[u16]>, u32);

#[derive(Debug)]
struct ProviderInstance {
    template: Arc<Template>,
    block: InstanceBlock,
    name: Box<[u16]>,
    id: u32,
}

/// Counterset of a provider with the location of each counter's value.
#[derive(Debug)]
struct Template {
    set: Arc<Counterset>,
    locations: HashMap<u32, ValueLocation>,
}

#[derive(Clone, Copy, Debug)]
struct ValueLocation {
    index: usize,
    /// Size of the counter's value that the functions for values may store; `None` if the block contains the value's
    /// address instead (by reference).
    holds: Option<ValueWidth>,
    /// Second size of the value that may be stored, for counter types whose bits do not state the size that the value
    /// has.
    also: Option<ValueWidth>,
    /// Number of bytes of a counter's value at the address that the block contains; `None` if the block contains the
    /// value itself.
    reference: Option<u32>,
}

/// Size of a counter's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueWidth {
    /// Counter value of 4 bytes.
    Four,
    /// Counter value of 8 bytes.
    Eight,
}

impl Template {
    fn new(set: Counterset) -> Self {
        let location = |(index, counter): (usize, &perfset::Counter)| {
            let len = counter.counter_type.value_len();
            let is_reference = counter.attributes.contains(Attributes::BY_REFERENCE);
            let (holds, also) = match counter.counter_type.decode().size {
                _ if is_reference => (None, None),
                Size::Dword if len == 4 => (Some(ValueWidth::Four), None),
                Size::Large => (Some(ValueWidth::Eight), None),
                // Stored in 8 bytes although the bits state 4, or no number: a program may store either size.
                _ => (Some(ValueWidth::Four), Some(ValueWidth::Eight)),
            };
            let reference = is_reference.then_some(len.max(4));
            (counter.id.0, ValueLocation { index, holds, also, reference })
        };
        let locations = set.counters.iter().enumerate().map(location).collect();
        Self { set: Arc::new(set), locations }
    }

    fn has_references(&self) -> bool {
        self.locations.values().any(|location| location.reference.is_some())
    }

    fn location(&self, counter: u32) -> Result<ValueLocation, Status> {
        self.locations.get(&counter).copied().ok_or(Status::ERROR_NOT_FOUND)
    }
}

impl ProviderInstance {
    fn value(&self, location: ValueLocation) -> Result<&'static AtomicU64, Status> {
        self.block.values().get(location.index).ok_or(Status::ERROR_NOT_FOUND)
    }
}

impl ProviderState {
    fn is_empty(&self) -> bool {
        self.instances.is_empty() && self.server.is_none()
    }
}

impl Provider {
    /// Starts the provider's server for consumers, if they might send a request and no server runs yet. A failure
    /// must not hinder the program.
    fn listen(&mut self) {
        let may_be_asked = || {
            self.control.callback.is_some()
                || self.templates.values().any(|template| template.has_references())
        };
        if self.own.server.is_none() && may_be_asked() {
            let control = self.control;
            self.own.server = self.publisher.answer(move |request| control.answer(&request)).ok().flatten();
        }
    }

    /// Drops the state inherited from the parent process, because the provider now gets its own in this process.
    fn leave_inheritance(&mut self) {
        if !self.inherited.is_empty() {
            self.inherited = ProviderState::default();
        }
    }

    fn instance(&self, address: usize) -> Result<&ProviderInstance, Status> {
        self.own.instances.get(&address).ok_or(Status::ERROR_INVALID_PARAMETER)
    }
}

/// Returns a provider or instance that was looked up, or the error of an invalid handle.
fn known<T>(provider: Option<T>) -> Result<T, Status> {
    provider.ok_or(Status::ERROR_INVALID_PARAMETER)
}

/// Starts a provider and returns its handle.
pub(super) fn start(guid: Guid, wide: TextUnit, callback: Option<ControlCallback>) -> usize {
    watch_process();
    let mut providers = write();
    let place: &AtomicU64 = Box::leak(Box::new(AtomicU64::new(0)));
    let handle = std::ptr::from_ref(place).expose_provenance();
    providers.handles.push(place);
    let mut provider = Provider {
        control: Control { guid, handle, callback, wide },
        publisher: Publisher::in_folders(Folders::from_env()),
        templates: HashMap::new(),
        own: ProviderState::default(),
        inherited: ProviderState::default(),
    };
    provider.listen();
    providers.providers.insert(handle, provider);
    handle
}

/// Stops a provider, once none of its callbacks runs any more. Until then callbacks find the provider unchanged.
pub(super) fn stop(handle: usize) -> Result<(), Status> {
    let server = known(write().providers.get_mut(&handle))?.own.server.take();
    drop(server);
    let provider = write().providers.remove(&handle);
    drop(provider);
    Ok(())
}

/// Defines a counterset of a provider.
pub(super) fn set_counterset(handle: usize, set: Counterset) -> Result<(), Status> {
    let mut providers = write();
    let provider = known(providers.providers.get_mut(&handle))?;
    if provider.templates.contains_key(&set.guid) {
        return Err(Status::ERROR_ALREADY_EXISTS);
    }
    provider.leave_inheritance();
    let (guid, template) = (set.guid, Arc::new(Template::new(set)));
    provider.publisher.define(&template.set);
    provider.templates.insert(guid, template);
    provider.listen();
    Ok(())
}

/// Creates an instance of a provider and returns the address of its block.
pub(super) fn create(
    handle: usize,
    set: &Guid,
    name: &[u16],
    id: u32,
    wide: TextUnit,
) -> Result<*mut u8, Status> {
    let mut providers = write();
    let provider = known(providers.providers.get_mut(&handle))?;
    let template = Arc::clone(provider.templates.get(set).ok_or(Status::ERROR_NOT_FOUND)?);
    let instance_type = template.set.instance_type;
    if name.is_empty() && instance_type.is_multiple() {
        return Err(Status::ERROR_INVALID_PARAMETER);
    }
    let is_of_set = |instance: &ProviderInstance| instance.template.set.guid == *set;
    if instance_type == InstanceType::Single && provider.own.instances.values().any(is_of_set) {
        return Err(Status::ERROR_INVALID_PARAMETER);
    }
    provider.leave_inheritance();
    let utf32 = (wide == TextUnit::Utf32).then(|| {
        let units = name.iter().chain(&[0]);
        to_utf32(&units.flat_map(|unit| unit.to_le_bytes()).collect::<Vec<u8>>(), TextLocation::Text)
    });
    let block = provider.publisher.create(&template.set, name, utf32.as_deref(), id);
    let block = block.map_err(|error| match error {
        CreateError::Exists => Status::ERROR_ALREADY_EXISTS,
        _ => Status::ERROR_OUTOFMEMORY,
    })?;
    provider.listen();
    let start = block.words().as_ptr().cast::<u8>().cast_mut();
    let own = &mut provider.own;
    own.names.entry(key(set, name, id)).or_default().push(start.addr());
    own.instances.insert(start.addr(), ProviderInstance { template, block, name: name.into(), id });
    Ok(start)
}

fn key(set: &Guid, name: &[u16], id: u32) -> Key {
    (*set, name.iter().map(|unit| perfset::utf16::upper(*unit)).collect(), id)
}

/// Finds an instance of a provider: the one of exactly this name, or else one whose name differs only in case.
pub(super) fn find(handle: usize, set: &Guid, name: Option<&[u16]>, id: u32) -> Result<*mut u8, Status> {
    let providers = read();
    let provider = known(providers.providers.get(&handle))?;
    let name = name.ok_or(Status::ERROR_NOT_FOUND)?;
    let found = provider.own.names.get(&key(set, name, id)).map_or(&[][..], Vec::as_slice);
    let has_name = |address: &&usize| provider.instance(**address).is_ok_and(|found| *found.name == *name);
    let address = found.iter().find(has_name).or(found.first()).ok_or(Status::ERROR_NOT_FOUND)?;
    Ok(provider.instance(*address)?.block.words().as_ptr().cast::<u8>().cast_mut())
}

/// Ends an instance of a provider, given by the address of its block.
pub(super) fn delete(handle: usize, address: usize) -> Result<(), Status> {
    let mut providers = write();
    let own = &mut known(providers.providers.get_mut(&handle))?.own;
    let instance = known(own.instances.remove(&address))?;
    let key = key(&instance.template.set.guid, &instance.name, instance.id);
    if let Some(named) = own.names.get_mut(&key) {
        named.retain(|named| *named != address);
        if named.is_empty() {
            own.names.remove(&key);
        }
    }
    Ok(())
}

/// Calls a function with the stored value of a counter of a provider's instance.
pub(super) fn with_value(
    handle: usize,
    address: usize,
    counter: u32,
    holds: ValueWidth,
    act: impl FnOnce(&AtomicU64),
) -> Result<(), Status> {
    let providers = read();
    let instance = known(providers.providers.get(&handle))?.instance(address)?;
    let location = instance.template.location(counter)?;
    if location.holds != Some(holds) && location.also != Some(holds) {
        return Err(Status::ERROR_INVALID_PARAMETER);
    }
    act(instance.value(location)?);
    Ok(())
}

/// Sets the address at which the value of a counter by reference is read.
pub(super) fn set_reference(handle: usize, address: usize, counter: u32, to: u64) -> Result<(), Status> {
    // Locked for writing: no thread reads at the old address meanwhile.
    let providers = write();
    let instance = known(providers.providers.get(&handle))?.instance(address)?;
    let location = instance.template.location(counter)?;
    if location.reference.is_none() {
        return Err(Status::ERROR_INVALID_PARAMETER);
    }
    instance.value(location)?.store(to, Relaxed);
    Ok(())
}

/// Returns the values at the addresses that counters by reference contain. While they are read, no instance ends and no
/// function sets an address.
pub(super) fn references(handle: usize, wanted: &CounterIdentity<'_>) -> CallbackReply {
    let providers = read();
    let provider = providers.providers.get(&handle);
    let template = provider.and_then(|provider| provider.templates.get(&wanted.counterset()));
    let (Some(provider), Some(template)) = (provider, template) else {
        return Status::ERROR_WMI_GUID_NOT_FOUND.into();
    };
    let is_wanted = |id: u32| match wanted.counter() {
        CounterFilter::All => true,
        CounterFilter::One(wanted) => wanted == CounterId(id),
    };
    let locations = template.locations.iter().filter(|(id, _)| is_wanted(**id));
    let locations: Vec<(u32, usize, u32)> =
        locations.filter_map(|(id, location)| Some((*id, location.index, location.reference?))).collect();
    let pattern = wanted.name().map(|name| Pattern::new(&Utf16::from(name)));
    let is_selected = |instance: &&ProviderInstance| {
        Arc::ptr_eq(&instance.template, template)
            && wanted.instance_id().matches(InstanceId(instance.id))
            && pattern.as_ref().is_none_or(|pattern| pattern.matches(instance.name.iter().copied()))
    };
    let mut answer = CallbackReply::from(Status::ERROR_SUCCESS);
    for instance in provider.own.instances.values().filter(is_selected) {
        for (id, at, len) in &locations {
            let address = instance.block.values().get(*at).map_or(0, |slot| slot.load(Relaxed));
            let address = usize::try_from(address).ok().filter(|address| *address != 0);
            // SAFETY: a program that stores an address in a counter by reference promises that `len` bytes may be
            // read there, until another is stored or the instance is deleted.
            let value = address.map(|address| unsafe { read_reference(address, *len) });
            let (sequence, counter) = (instance.block.sequence(), CounterId(*id));
            answer.values.push(ReferencedValue { sequence, counter, value });
        }
    }
    answer
}

/// Locks the providers of this process for reading. A panic under the lock was caught at the boundary, and left the
/// state consistent.
fn read() -> RwLockReadGuard<'static, Providers> {
    PROVIDERS.read().unwrap_or_else(PoisonError::into_inner)
}

fn write() -> RwLockWriteGuard<'static, Providers> {
    PROVIDERS.write().unwrap_or_else(PoisonError::into_inner)
}

/// Registers the functions that are called at forks and at the end of the provider's process.
fn watch_process() {
    // No lock, which a forked process might wait for. If threads race, each function runs twice, and the second time
    // does nothing.
    static IS_REGISTERED: AtomicBool = AtomicBool::new(false);
    if IS_REGISTERED.load(Acquire) {
        return;
    }
    // SAFETY: functions of the right kind that live as long as the process, and may be called around a fork.
    unsafe { libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(in_child)) };
    // SAFETY: a function of the right kind that lives as long as the process.
    unsafe { libc::atexit(at_exit) };
    IS_REGISTERED.store(true, Release);
}

thread_local! {
    /// Lock of the providers, held by a thread that forks, and by its copy in the child.
    static HELD: RefCell<Option<RwLockWriteGuard<'static, Providers>>> = const { RefCell::new(None) };
}

extern "C" fn before_fork() {
    if HELD.try_with(|place| place.borrow().is_some()).unwrap_or_default() {
        return;
    }
    let held = write();
    // A thread that is ending holds nothing while it forks.
    let _ = HELD.try_with(|place| place.replace(Some(held)));
}

extern "C" fn after_fork() {
    let _ = HELD.try_with(RefCell::take);
}

extern "C" fn in_child() {
    let held = HELD.try_with(RefCell::take).ok().flatten();
    let Some(mut providers) = held else { return };
    for provider in providers.providers.values_mut() {
        // Nothing is freed or allocated here.
        if !provider.own.is_empty() {
            std::mem::swap(&mut provider.own, &mut provider.inherited);
        }
    }
}

/// Removes the published files of providers that the program has not stopped.
extern "C" fn at_exit() {
    let providers = match PROVIDERS.try_read() {
        Ok(providers) => providers,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => return, // the next program of this user cleans up
    };
    for provider in providers.providers.values() {
        provider.publisher.unlink();
    }
}
