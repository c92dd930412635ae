package telemetry

// Keys of log attributes. A line uses these and no others, so that whoever reads the log can rely on them.
const (
	KeyRequestID  = "request_id"
	KeySurface    = "surface"
	KeyTransport  = "transport" // http, sse, ws
	KeyResponse   = "response"  // id of an answer that can be continued
	KeyModel      = "model"     // the id, not what the client wrote
	KeyTenant     = "tenant"
	KeyEngine     = "engine"
	KeySession    = "session" // the client's, for affinity
	KeyOutcome    = "outcome"
	KeyError      = "error" // private cause, never sent to a client
	KeyStatus     = "status"
	KeyMethod     = "method"
	KeyPath       = "path"
	KeyRemote     = "remote"
	KeyDuration   = "duration_ms"
	KeyTTFT       = "ttft_ms"
	KeyInput      = "input_tokens"
	KeyCached     = "cached_tokens"
	KeyOutput     = "output_tokens"
	KeyCalls      = "calls"
	KeyIncomplete = "incomplete_calls"
	KeyPrompt     = "prompt"  // content: only of tenants that allow it
	KeyAnswer     = "answer"  // as above
	KeyIgnored    = "ignored" // request members without effect
	KeyLost       = "lost"    // what of a request its chat template leaves out
	KeyMissing    = "missing" // what a chat template cannot show, and what was changed for it
	KeyPlugin     = "plugin"
	KeyExport     = "export"
	KeyKind       = "kind"     // of a plugin's fault
	KeyFallback   = "fallback" // whether a turn went on without what failed
	KeyGeneration = "generation"
	KeyDigest     = "digest"
	KeyFile       = "file"
	KeyAddress    = "address"
	KeyVersion    = "version"
)
