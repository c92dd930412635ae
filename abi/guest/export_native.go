//go:build !wasip1

package guest

// Export does nothing on the host: natively a Program is run by guesttest.
func Export(interface{ Manifest() string }) {}
