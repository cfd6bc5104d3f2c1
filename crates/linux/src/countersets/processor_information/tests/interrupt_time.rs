//! Tests of processor time in interrupt handlers, on kernels that count it and on kernels that do not.

use perfset_catalogue::linux_processor;

use super::native::linux;
use super::*;
use id::*;

const NO_IRQ: &str = "unavailable: the kernel has counted no time in interrupt handlers since boot: it measures that \
                      only with CONFIG_IRQ_TIME_ACCOUNTING";
const NO_SOFTIRQ: &str = "unavailable: the kernel has counted no time in soft interrupts since boot";

/// Returns `% Interrupt Time` and `% DPC Time` of a processor's row, and checks that Linux Processor has the same.
fn times_of(provider: &mut ProcessorInformation, tree: &Tree, row: &str) -> [Result<u64, String>; 2] {
    let told = |got: &CellOutcome| match got {
        CellOutcome::Value(raw) => Ok(*raw),
        CellOutcome::None(reason) => Err(reason.to_string()),
        got => panic!("{got:?}"),
    };
    let times = [PERCENT_INTERRUPT_TIME, PERCENT_DPC_TIME];
    let collected = collect(provider, &times, &[row]);
    let got = times.map(|counter| told(collected.get(row, counter)));
    let times = [linux_processor::PERCENT_IRQ_TIME, linux_processor::PERCENT_SOFTIRQ_TIME];
    let collected = collect(&mut linux(tree.roots()), &times, &[row]);
    assert_eq!(times.map(|counter| told(collected.get(row, counter))), got, "Linux Processor");
    got
}

fn write(tree: &Tree, all: &str, cpu0: &str, cpu1: &str) {
    tree.write("proc/stat", &format!("cpu  {all} 0 0 0\ncpu0 {cpu0} 0 0 0\ncpu1 {cpu1} 0 0 0\nintr 7 0\n"));
}

/// Checks that interrupt time is missing on a kernel without CONFIG_IRQ_TIME_ACCOUNTING, which always prints 0.
#[test]
fn time_that_the_kernel_never_counts_is_missing() {
    let tree = Tree::copy_of("small-vm");
    let mut provider = provider(tree.roots());
    write(&tree, "9 0 9 9 9 0 5", "4 0 4 4 4 0 2", "5 0 5 5 5 0 3");
    for (row, softirq) in [("0,0", 2 * 40_000), ("0,1", 3 * 40_000), ("_Total", 5 * 20_000)] {
        assert_eq!(times_of(&mut provider, &tree, row), [Err(NO_IRQ.to_owned()), Ok(softirq)], "{row}");
    }
    let privileged = collect(&mut provider, &[PERCENT_PRIVILEGED_TIME], &["0,1"]);
    assert_eq!(
        *privileged.get("0,1", PERCENT_PRIVILEGED_TIME),
        CellOutcome::Value(8 * 40_000),
        "its other parts"
    );

    write(&tree, "9 0 9 9 9 0 0", "4 0 4 4 4 0 0", "5 0 5 5 5 0 0");
    let neither = [Err(NO_IRQ.to_owned()), Err(NO_SOFTIRQ.to_owned())];
    for row in ["0,0", "0,1", "0,_Total", "_Total"] {
        assert_eq!(times_of(&mut provider, &tree, row), neither, "{row}");
    }
}

/// Checks that 0 is a processor's interrupt time if the kernel has counted such time of any processor.
#[test]
fn zero_is_a_value_if_the_kernel_counts() {
    let tree = Tree::copy_of("small-vm");
    let mut provider = provider(tree.roots());
    let zeros = "5 0 5 5 5 0 0";
    for (name, all, cpu0, of_0_0) in [
        ("one processor has some", "9 0 9 9 9 1 1", "4 0 4 4 4 1 1", 40_000),
        (
            "the machine has some: less than a tick each, or a processor that is offline",
            "9 0 9 9 9 1 1",
            zeros,
            0,
        ),
        ("the first line is cut", "9 0 9", "4 0 4 4 4 1 1", 40_000),
    ] {
        write(&tree, all, cpu0, zeros);
        assert_eq!(times_of(&mut provider, &tree, "0,0"), [Ok(of_0_0), Ok(of_0_0)], "{name}");
        assert_eq!(times_of(&mut provider, &tree, "0,1"), [Ok(0), Ok(0)], "{name}");
        assert_eq!(times_of(&mut provider, &tree, "_Total"), [Ok(of_0_0 / 2), Ok(of_0_0 / 2)], "{name}");
    }
}

/// Checks that interrupt time has a value from the first tick on that the kernel has counted.
#[test]
fn time_is_there_once_some_was_counted() {
    let tree = Tree::copy_of("small-vm");
    let mut provider = provider(tree.roots());
    for (irq, want) in [("0", Err(NO_IRQ.to_owned())), ("1", Ok(40_000)), ("3", Ok(120_000))] {
        let times = format!("4 0 4 4 4 {irq} 1");
        write(&tree, &times, &times, "5 0 5 5 5 0 0");
        assert_eq!(times_of(&mut provider, &tree, "0,0"), [want, Ok(40_000)], "{irq}");
    }
}
