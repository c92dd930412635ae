package sandbox

// Modules that a plugin may import from.
const (
	ModuleWASI = "wasi_snapshot_preview1"
	ModuleWeir = "weir1"
)

// ModuleHost and ImportRefill name the function without parameters and results that Prepare has a module
// import: its code calls it when ExportFuel is below zero. It returns with the fuel at or above zero, or ends
// the call with a panic. A guest cannot import it by itself.
const (
	ModuleHost   = "weir host"
	ImportRefill = "refill"
)

// Parameters and results in the form of Signature.
const (
	none = ""
	w    = "\x7f" // i32
	ww   = w + w
	www  = ww + w
	d    = "\x7e" // i64
)

// allowed lists every function a plugin may import. The WASI ones are those that the standard Go
// toolchain and small C, Rust and Zig programs link even if they are never called; none of them opens
// anything. Types are those of the wasip1 interface.
var allowed = [...]Import{
	{ModuleWASI, "args_get", Signature{ww, w}},
	{ModuleWASI, "args_sizes_get", Signature{ww, w}},
	{ModuleWASI, "clock_res_get", Signature{ww, w}},
	{ModuleWASI, "clock_time_get", Signature{w + d + w, w}},
	{ModuleWASI, "environ_get", Signature{ww, w}},
	{ModuleWASI, "environ_sizes_get", Signature{ww, w}},
	{ModuleWASI, "fd_close", Signature{w, w}},
	{ModuleWASI, "fd_fdstat_get", Signature{ww, w}},
	{ModuleWASI, "fd_fdstat_set_flags", Signature{ww, w}},
	{ModuleWASI, "fd_prestat_dir_name", Signature{www, w}},
	{ModuleWASI, "fd_prestat_get", Signature{ww, w}},
	{ModuleWASI, "fd_read", Signature{www + w, w}},
	{ModuleWASI, "fd_seek", Signature{w + d + ww, w}},
	{ModuleWASI, "fd_write", Signature{www + w, w}},
	{ModuleWASI, "poll_oneoff", Signature{www + w, w}},
	{ModuleWASI, "proc_exit", Signature{w, none}},
	{ModuleWASI, "random_get", Signature{ww, w}},
	{ModuleWASI, "sched_yield", Signature{none, w}},
	{ModuleWeir, "log", Signature{www, none}},
}

// Allowed returns the functions a plugin may import, ordered by module and name. The host must offer
// exactly these.
func Allowed() []Import { return append([]Import(nil), allowed[:]...) }

func lookup(module, name string) (Signature, bool) {
	for _, i := range allowed {
		if i.Module == module && i.Name == name {
			return i.Type, true
		}
	}
	return Signature{}, false
}
