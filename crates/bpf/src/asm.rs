//! Assembler for the BPF instructions that the task-iterator programs use.
//!
//! Source: `Documentation/bpf/standardization/instruction-set.rst` of the kernel.

/// Encoded BPF instruction: opcode, registers, offset, immediate number.
pub type Instruction = [u8; 8];

/// Register of the BPF virtual machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Reg {
    /// Register for the return value of a call.
    R0,
    /// Register for the first argument of a call; `R2` and `R3` are for the next two.
    R1,
    R2,
    R3,
    /// First register that keeps its value during a call; `R7` to `R9` are the next ones.
    R6 = 6,
    R7,
    R8,
    R9,
    /// Frame pointer: the end of the stack frame.
    Frame,
}

/// Width of a load or store by a BPF instruction: 1, 2, 4 or 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    W1,
    W2,
    W4,
    W8,
}

impl Width {
    /// Returns the width for a number of bytes; `None` unless it is 1, 2, 4 or 8.
    pub fn from_bytes(bytes: u32) -> Option<Self> {
        Some(match bytes {
            1 => Self::W1,
            2 => Self::W2,
            4 => Self::W4,
            8 => Self::W8,
            _ => return None,
        })
    }

    fn code(self) -> u8 {
        match self {
            Self::W1 => 0x10,
            Self::W2 => 0x08,
            Self::W4 => 0x00,
            Self::W8 => 0x18,
        }
    }
}

/// Jump target: a position in the BPF program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label(usize);

/// BPF program under construction.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    code: Vec<Instruction>,
    labels: Vec<Option<usize>>,
    jumps: Vec<(usize, Label)>,
}

impl Assembler {
    fn put(&mut self, code: u8, to: Reg, from: u8, offset: i16, number: i32) {
        let to = register(to);
        // `struct bpf_insn` has two bit fields of four bits here. Their order depends on the byte order.
        let registers = if cfg!(target_endian = "little") { to | from << 4 } else { to << 4 | from };
        let [o0, o1] = offset.to_ne_bytes();
        let [n0, n1, n2, n3] = number.to_ne_bytes();
        self.code.push([code, registers, o0, o1, n0, n1, n2, n3]);
    }

    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len().saturating_sub(1))
    }

    /// Sets a jump label to the position of the next instruction.
    pub fn place(&mut self, label: Label) {
        let next = self.code.len();
        if let Some(place) = self.labels.get_mut(label.0) {
            *place = Some(next);
        }
    }

    pub fn copy(&mut self, to: Reg, from: Reg) {
        self.put(0xBF, to, register(from), 0, 0);
    }

    pub fn set(&mut self, to: Reg, number: i32) {
        self.put(0xB7, to, 0, 0, number);
    }

    pub fn add(&mut self, to: Reg, from: Reg) {
        self.put(0x0F, to, register(from), 0, 0);
    }

    pub fn add_number(&mut self, to: Reg, number: i32) {
        self.put(0x07, to, 0, 0, number);
    }

    pub fn multiply(&mut self, to: Reg, number: i32) {
        self.put(0x27, to, 0, 0, number);
    }

    /// Sign-extends the low half of a BPF register. Uses shifts, which every kernel supports.
    pub fn extend_sign(&mut self, to: Reg) {
        self.put(0x67, to, 0, 0, 32);
        self.put(0xC7, to, 0, 0, 32);
    }

    /// Loads a number from memory into register `to`, `offset` bytes behind the address in `from`. An offset of more
    /// than 16 bits is first added to `to`, which may be the same register as `from`.
    pub fn load(&mut self, width: Width, to: Reg, from: Reg, offset: u32) {
        const LDX: u8 = 0x61;
        let code = LDX | width.code();
        match i16::try_from(offset) {
            Ok(offset) => self.put(code, to, register(from), offset, 0),
            Err(_) => {
                self.copy(to, from);
                self.add_number(to, i32::try_from(offset).unwrap_or(i32::MAX));
                self.put(code, to, register(to), 0, 0);
            }
        }
    }

    /// Stores a BPF register, `from`, to memory, `offset` bytes behind the address in `to`.
    pub fn store(&mut self, width: Width, to: Reg, offset: i16, from: Reg) {
        const STX: u8 = 0x63;
        self.put(STX | width.code(), to, register(from), offset, 0);
    }

    /// Sets a BPF register to a number of 64 bits.
    pub fn set_wide(&mut self, to: Reg, number: u64) {
        self.two(to, 0, number);
    }

    /// Loads the address of a BPF map, given by its file descriptor.
    pub fn map(&mut self, to: Reg, descriptor: i32) {
        // `BPF_PSEUDO_MAP_FD`: when the program is loaded, the kernel puts the address of the map here.
        self.two(to, 1, low(descriptor));
    }

    /// Loads the address of byte `at` of a BPF map's only value.
    pub fn map_value(&mut self, to: Reg, descriptor: i32, at: u32) {
        // `BPF_PSEUDO_MAP_VALUE`; the upper half is the offset.
        self.two(to, 2, low(descriptor) | u64::from(at) << 32);
    }

    fn two(&mut self, to: Reg, kind: u8, number: u64) {
        let half =
            |half: u64| i32::from_ne_bytes(u32::try_from(half & 0xFFFF_FFFF).unwrap_or(0).to_ne_bytes());
        // The only instruction that takes twice the room: the second half only carries the upper 32 bits.
        self.put(0x18, to, kind, 0, half(number));
        self.put(0, Reg::R0, 0, 0, half(number >> 32));
    }

    /// Calls a BPF helper, which the kernel offers to all programs, by its number.
    pub fn call_helper(&mut self, number: i32) {
        self.put(0x85, Reg::R0, 0, 0, number);
    }

    /// Calls a kernel function by its type id in the kernel's BTF.
    pub fn call(&mut self, function: u32) {
        // 2 is `BPF_PSEUDO_KFUNC_CALL`: the number is a type id, not the number of a helper.
        self.put(0x85, Reg::R0, 2, 0, i32::try_from(function).unwrap_or(0));
    }

    fn jump(&mut self, code: u8, left: Reg, right: u8, number: i32, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.put(code, left, right, 0, number);
    }

    pub fn go(&mut self, to: Label) {
        self.jump(0x05, Reg::R0, 0, 0, to);
    }

    pub fn if_zero(&mut self, register: Reg, to: Label) {
        self.jump(0x15, register, 0, 0, to);
    }

    pub fn if_equal(&mut self, left: Reg, right: Reg, to: Label) {
        self.jump(0x1D, left, register(right), 0, to);
    }

    pub fn if_other(&mut self, left: Reg, right: Reg, to: Label) {
        self.jump(0x5D, left, register(right), 0, to);
    }

    /// Jumps to a label if `left` is less than `number`, compared as unsigned numbers.
    pub fn if_below(&mut self, left: Reg, number: i32, to: Label) {
        self.jump(0xA5, left, 0, number, to);
    }

    pub fn exit(&mut self) {
        self.put(0x95, Reg::R0, 0, 0, 0);
    }

    /// Returns the assembled BPF program; `None` if the label of a jump has no position or is too far away.
    pub fn finish(mut self) -> Option<Vec<Instruction>> {
        for (at, label) in self.jumps {
            let to = (*self.labels.get(label.0)?)?;
            // A jump is relative to the instruction behind it.
            let way = i64::try_from(to).ok()?.checked_sub(i64::try_from(at).ok()?)?.checked_sub(1)?;
            let [o0, o1] = i16::try_from(way).ok()?.to_ne_bytes();
            let [_, _, low, high, ..] = self.code.get_mut(at)?;
            (*low, *high) = (o0, o1);
        }
        Some(self.code)
    }
}

fn register(register: Reg) -> u8 {
    match register {
        Reg::R0 => 0,
        Reg::R1 => 1,
        Reg::R2 => 2,
        Reg::R3 => 3,
        Reg::R6 => 6,
        Reg::R7 => 7,
        Reg::R8 => 8,
        Reg::R9 => 9,
        Reg::Frame => 10,
    }
}

fn low(number: i32) -> u64 {
    u64::from(u32::from_ne_bytes(number.to_ne_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the parts of each BPF instruction: code, first register, second register, offset, number.
    fn taken_apart(code: &[Instruction]) -> Vec<(u8, u8, u8, i16, i32)> {
        let one = |[code, registers, o0, o1, n0, n1, n2, n3]: &Instruction| {
            let (low, high) = (registers & 15, registers >> 4);
            let (to, from) = if cfg!(target_endian = "little") { (low, high) } else { (high, low) };
            (*code, to, from, i16::from_ne_bytes([*o0, *o1]), i32::from_ne_bytes([*n0, *n1, *n2, *n3]))
        };
        code.iter().map(one).collect()
    }

    #[test]
    fn encodings() {
        let mut asm = Assembler::default();
        asm.copy(Reg::R7, Reg::R0);
        asm.set(Reg::R1, -5);
        asm.add(Reg::R2, Reg::R3);
        asm.add_number(Reg::R6, 7);
        asm.multiply(Reg::R1, 280);
        asm.extend_sign(Reg::R1);
        asm.load(Width::W4, Reg::R1, Reg::R7, 11);
        asm.load(Width::W2, Reg::R1, Reg::R7, 40_000);
        asm.store(Width::W8, Reg::Frame, -8, Reg::R1);
        asm.set_wide(Reg::R2, 0x8000_0001_FFFF_FFFE);
        asm.map(Reg::R1, 3);
        asm.map_value(Reg::R2, 3, 64);
        asm.call_helper(158);
        asm.call(77_777);
        asm.exit();
        let want = [
            (0xBF, 7, 0, 0, 0),
            (0xB7, 1, 0, 0, -5),
            (0x0F, 2, 3, 0, 0),
            (0x07, 6, 0, 0, 7),
            (0x27, 1, 0, 0, 280),
            (0x67, 1, 0, 0, 32),
            (0xC7, 1, 0, 0, 32),
            (0x61, 1, 7, 11, 0),
            (0xBF, 1, 7, 0, 0),
            (0x07, 1, 0, 0, 40_000),
            (0x69, 1, 1, 0, 0),
            (0x7B, 10, 1, -8, 0),
            (0x18, 2, 0, 0, -2),
            (0x00, 0, 0, 0, i32::MIN + 1),
            (0x18, 1, 1, 0, 3),
            (0x00, 0, 0, 0, 0),
            (0x18, 2, 2, 0, 3),
            (0x00, 0, 0, 0, 64),
            (0x85, 0, 0, 0, 158),
            (0x85, 0, 2, 0, 77_777),
            (0x95, 0, 0, 0, 0),
        ];
        assert_eq!(taken_apart(&asm.finish().unwrap()), want);
    }

    #[test]
    fn jumps() {
        let mut asm = Assembler::default();
        let (back, ahead) = (asm.label(), asm.label());
        asm.place(back);
        asm.if_zero(Reg::R0, ahead);
        asm.if_other(Reg::R1, Reg::R2, back);
        asm.if_equal(Reg::R1, Reg::R9, ahead);
        asm.if_below(Reg::R1, 20, back);
        asm.go(ahead);
        asm.place(ahead);
        asm.exit();
        let want = [
            (0x15, 0, 0, 4, 0),
            (0x5D, 1, 2, -2, 0),
            (0x1D, 1, 9, 2, 0),
            (0xA5, 1, 0, -4, 20),
            (0x05, 0, 0, 0, 0),
            (0x95, 0, 0, 0, 0),
        ];
        assert_eq!(taken_apart(&asm.finish().unwrap()), want);
        let mut asm = Assembler::default();
        let nowhere = asm.label();
        asm.go(nowhere);
        assert_eq!(asm.finish(), None);
        let mut asm = Assembler::default();
        let far = asm.label();
        asm.go(far);
        (0..40_000).for_each(|_| asm.exit());
        asm.place(far);
        assert_eq!(asm.finish(), None);
    }
}
