package wasmtest

// Instructions without immediates, and starts of blocks that leave nothing.
const (
	Unreachable = "\x00"
	Block       = "\x02\x40"
	Loop        = "\x03\x40"
	If          = "\x04\x40"
	Else        = "\x05"
	End         = "\x0b"
	Return      = "\x0f"
	Drop        = "\x1a"
	Eqz         = "\x45"
	Eq          = "\x46"
	Add         = "\x6a"
	Sub         = "\x6b"
	MemoryGrow  = "\x40\x00"
)

// I32Const pushes v.
func I32Const(v int32) string { return "\x41" + string(S64(int64(v))) }

// I64Const pushes v.
func I64Const(v int64) string { return "\x42" + string(S64(v)) }

// LocalGet pushes a local.
func LocalGet(i uint32) string { return "\x20" + string(U32(i)) }

// LocalSet pops a local.
func LocalSet(i uint32) string { return "\x21" + string(U32(i)) }

// Call calls a function.
func Call(f int) string { return "\x10" + string(U32(uint32(f))) }

// Br branches out of n blocks.
func Br(n uint32) string { return "\x0c" + string(U32(n)) }

// BrIf branches out of n blocks if the popped value is not zero.
func BrIf(n uint32) string { return "\x0d" + string(U32(n)) }

// Load pushes the i32 at the popped address plus off.
func Load(off uint32) string { return "\x28\x02" + string(U32(off)) }

// Store pops a value and an address, and stores an i32 at the address plus off.
func Store(off uint32) string { return "\x36\x02" + string(U32(off)) }
