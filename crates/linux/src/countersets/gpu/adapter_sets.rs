//! Countersets of graphics adapters: GPU Adapter Memory, GPU Local and Non Local Adapter Memory, Linux GPU.

use std::fmt::Debug;
use std::marker::PhantomData;

use perfset_catalogue::{
    gpu_adapter_memory, gpu_local_adapter_memory, gpu_non_local_adapter_memory, linux_gpu,
};
use perfset_core::{CounterId, Counterset, InstanceId, NoValue};

use super::adapters::Adapter;
use super::card::CardReading;
use super::{Gpu, Shared, lock};
use crate::provider::{Collection, InstanceKey, InstanceSource, MarkedRaw, unavailable};

/// Names and readings of a counterset that has one instance for each graphics adapter.
pub(super) trait AdapterView: Debug + Send {
    /// Counterset that the instances of graphics adapters belong to.
    const COUNTERSET: &'static Counterset;

    /// Returns the instance name of a graphics adapter.
    fn name(adapter: &Adapter) -> String;

    /// Returns the readings of a graphics adapter whose sum is the counter's value.
    fn gauges(counter: CounterId) -> &'static [CardReading];
}

/// Provider of a counterset that has an instance for each graphics adapter.
#[derive(Debug)]
pub(super) struct AdapterSet<V> {
    gpu: Shared,
    keys: Vec<InstanceKey>,
    /// Generation number of the list of graphics adapters from which `keys` was made.
    generation: Option<u64>,
    view: PhantomData<V>,
}

impl<V: AdapterView> AdapterSet<V> {
    pub(super) fn new(gpu: &Shared) -> Self {
        Self { gpu: gpu.clone(), keys: Vec::new(), generation: None, view: PhantomData }
    }
}

impl<V: AdapterView> InstanceSource for AdapterSet<V> {
    const HAS_TOTAL: bool = false;

    fn counterset(&self) -> Counterset {
        V::COUNTERSET.clone()
    }

    fn find(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        let mut gpu = lock(&self.gpu);
        let Gpu { adapters, .. } = &mut *gpu;
        adapters.refresh(pass)?;
        if self.generation != Some(adapters.generation) {
            self.generation = Some(adapters.generation);
            let key = |adapter: &Adapter| {
                let id = InstanceId(adapter.luid.low());
                InstanceKey::new(V::name(adapter), id)
            };
            self.keys = adapters.list.iter().map(key).collect();
        }
        Ok(())
    }

    fn keys(&self) -> &[InstanceKey] {
        &self.keys
    }

    fn value(&mut self, at: usize, counter: CounterId, pass: &mut Collection) -> Result<MarkedRaw, NoValue> {
        let mut gpu = lock(&self.gpu);
        if V::gauges(counter).is_empty() {
            return gpu.processes(at, pass).map(MarkedRaw::from);
        }
        let mut sum = 0_u64;
        for gauge in V::gauges(counter) {
            sum = sum.saturating_add(gpu.read(at, *gauge, pass)?);
        }
        Ok(sum.into())
    }
}

impl Gpu {
    /// Returns one reading of the graphics adapter at index `at`.
    fn read(&mut self, at: usize, gauge: CardReading, pass: &mut Collection) -> Result<u64, NoValue> {
        let Some(adapter) = self.adapters.list.get_mut(at) else { return Err(NoValue::NotGiven) };
        if let Some(address) = adapter.nvidia {
            return self.nvidia.read(address, gauge, pass);
        }
        match adapter.files() {
            Some(files) => files.read(gauge, pass),
            None => Err(NoValue::NotGiven),
        }
    }

    /// Returns the number of processes that use the graphics adapter at index `at`.
    fn processes(&mut self, at: usize, pass: &mut Collection) -> Result<u64, NoValue> {
        let adapter = self.adapters.list.get(at).map(|adapter| (adapter.luid, adapter.nvidia));
        let Some((luid, nvidia)) = adapter else { return Err(NoValue::NotGiven) };
        if let Some(address) = nvidia {
            let mut count = 0_u64;
            self.nvidia.processes(address, pass, |_| count = count.saturating_add(1))?;
            return Ok(count);
        }
        self.find_clients(pass)?;
        // A number without the processes of other users would look like the number of all.
        if let Some(refusal) = self.clients.refusal() {
            return Err(refusal);
        }
        let clients = self.clients.list.iter().filter(|client| client.luid == luid);
        let mut pids: Vec<_> = clients.map(super::clients::Client::pid).collect();
        pids.sort_unstable();
        pids.dedup();
        u64::try_from(pids.len()).map_err(|_| unavailable("there are too many"))
    }
}

/// Instances of the counterset GPU Adapter Memory, one for each graphics adapter.
#[derive(Debug)]
pub(super) struct AdapterMemory;

impl AdapterView for AdapterMemory {
    const COUNTERSET: &'static Counterset = &gpu_adapter_memory::COUNTERSET;

    fn name(adapter: &Adapter) -> String {
        format!("{}_phys_0", adapter.luid)
    }

    fn gauges(counter: CounterId) -> &'static [CardReading] {
        match counter {
            gpu_adapter_memory::DEDICATED_USAGE => &[CardReading::DedicatedUsed],
            gpu_adapter_memory::SHARED_USAGE => &[CardReading::SharedUsed],
            _ => &[CardReading::DedicatedUsed, CardReading::SharedUsed],
        }
    }
}

/// Instances of the counterset GPU Local Adapter Memory, one for each graphics adapter.
#[derive(Debug)]
pub(super) struct LocalMemory;

impl AdapterView for LocalMemory {
    const COUNTERSET: &'static Counterset = &gpu_local_adapter_memory::COUNTERSET;

    fn name(adapter: &Adapter) -> String {
        format!("{}_phys_0_part_0", adapter.luid)
    }

    fn gauges(_: CounterId) -> &'static [CardReading] {
        &[CardReading::DedicatedUsed]
    }
}

/// Instances of the counterset GPU Non Local Adapter Memory, one for each graphics adapter.
#[derive(Debug)]
pub(super) struct NonLocalMemory;

impl AdapterView for NonLocalMemory {
    const COUNTERSET: &'static Counterset = &gpu_non_local_adapter_memory::COUNTERSET;

    fn name(adapter: &Adapter) -> String {
        LocalMemory::name(adapter)
    }

    fn gauges(_: CounterId) -> &'static [CardReading] {
        &[CardReading::SharedUsed]
    }
}

/// Instances of the counterset Linux GPU, one for each graphics adapter.
#[derive(Debug)]
pub(super) struct LinuxGpu;

impl AdapterView for LinuxGpu {
    const COUNTERSET: &'static Counterset = &linux_gpu::COUNTERSET;

    fn name(adapter: &Adapter) -> String {
        adapter.name.clone()
    }

    fn gauges(counter: CounterId) -> &'static [CardReading] {
        match counter {
            linux_gpu::PERCENT_GPU_UTILIZATION => &[CardReading::GpuUtilization],
            linux_gpu::PERCENT_MEMORY_UTILIZATION => &[CardReading::MemoryUtilization],
            linux_gpu::PERCENT_ENCODER_UTILIZATION => &[CardReading::EncoderUtilization],
            linux_gpu::PERCENT_DECODER_UTILIZATION => &[CardReading::DecoderUtilization],
            linux_gpu::DEDICATED_MEMORY => &[CardReading::Dedicated],
            linux_gpu::DEDICATED_MEMORY_USED => &[CardReading::DedicatedUsed],
            linux_gpu::SHARED_MEMORY => &[CardReading::Shared],
            linux_gpu::SHARED_MEMORY_USED => &[CardReading::SharedUsed],
            linux_gpu::GPU_TEMPERATURE => &[CardReading::Temperature],
            linux_gpu::HOT_SPOT_TEMPERATURE => &[CardReading::HotSpotTemperature],
            linux_gpu::MEMORY_TEMPERATURE => &[CardReading::MemoryTemperature],
            linux_gpu::POWER_DRAW => &[CardReading::PowerDraw],
            linux_gpu::POWER_LIMIT => &[CardReading::PowerLimit],
            linux_gpu::GRAPHICS_CLOCK => &[CardReading::GraphicsClock],
            linux_gpu::MAXIMUM_GRAPHICS_CLOCK => &[CardReading::MaximumGraphicsClock],
            linux_gpu::MEMORY_CLOCK => &[CardReading::MemoryClock],
            linux_gpu::FAN_SPEED => &[CardReading::FanSpeed],
            linux_gpu::PERCENT_FAN_SPEED => &[CardReading::FanPercent],
            linux_gpu::ECC_CORRECTED_ERRORS => &[CardReading::CorrectedErrors],
            linux_gpu::ECC_UNCORRECTED_ERRORS => &[CardReading::UncorrectedErrors],
            linux_gpu::PCIE_RECEIVE_THROUGHPUT => &[CardReading::PcieReceived],
            linux_gpu::PCIE_TRANSMIT_THROUGHPUT => &[CardReading::PcieTransmitted],
            _ => &[], // Processes
        }
    }
}
