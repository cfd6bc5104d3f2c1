//! Fuzz target that parses arbitrary bytes as a kernel's BTF type description.

use perfset_bpf::{Btf, Column, ColumnSet, Kernel};

const NAMES: [&str; 6] = ["outer", "inner", "walk", "bits", "task_struct", "bpf_iter_task"];
const PATHS: [&str; 7] = [
    "first",
    "x",
    "many[1].b",
    "next.a",
    "absent",
    "se.sum_exec_runtime",
    "stats_lock.seqcount.seqcount.sequence",
];

/// Checks that the results of parsing BTF lie inside the data, and that an accepted kernel has every type that a task
/// iterator needs.
pub fn check(input: &[u8]) {
    if let Ok(btf) = Btf::parse(input, &NAMES) {
        assert!(btf.len() <= input.len() / 12);
        for name in NAMES {
            let found = [btf.structure(name), btf.function(name)].into_iter().flatten();
            for id in found.chain([0, 1, u32::MAX]) {
                let _ = btf.size(id);
                for member in PATHS.iter().filter_map(|path| btf.member(id, path)) {
                    assert!(btf.size(member.type_id) == Some(member.size));
                }
            }
        }
    }
    if let Ok(kernel) = Kernel::from_btf(input) {
        assert!(
            kernel
                .has(ColumnSet::new(&Column::ALL))
                .contain(ColumnSet::new(&[Column::Pid, Column::Sequence]))
        );
    }
}
