package config

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// units are the suffixes of a size. The longer ones come first.
var units = [...]struct {
	name string
	size int64
}{
	{"GiB", 1 << 30},
	{"MiB", 1 << 20},
	{"KiB", 1 << 10},
	{"GB", 1e9},
	{"MB", 1e6},
	{"kB", 1e3},
	{"B", 1},
}

// parseSize reads a whole number with its unit, such as 32MiB.
func parseSize(s string) (int64, bool) {
	for _, u := range units {
		digits, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSuffix(digits, " "), 10, 63)
		if err != nil || n > uint64(math.MaxInt64/u.size) {
			return 0, false
		}
		return int64(n) * u.size, true
	}
	return 0, false
}

// formatSize is the inverse of parseSize, in the largest binary unit that gives a whole number.
func formatSize(n int64) string {
	for _, u := range units {
		if u.size&(u.size-1) == 0 && n >= u.size && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}

// formatDuration gives a duration without the zero units that time.Duration appends.
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
