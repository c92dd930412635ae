package main

import (
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/plan"
)

// TestPlan has two turns: the reasoning of the first is dropped, that of the tool loop after the last user
// message is kept.
func TestPlan(t *testing.T) {
	row := func(message uint32, kind conv.PartKind, flags uint16) plan.Row {
		return plan.Row{Message: message, Kind: uint8(kind), Flags: flags}
	}
	turns := []plan.Row{row(0, conv.Text, 0), row(1, conv.Reasoning, 0), row(2, conv.Text, plan.RowLastUser), row(3, conv.Reasoning, 0)}
	for _, c := range []struct {
		name string
		rows []plan.Row
		want []plan.Op
	}{
		{"nothing", nil, nil},
		{"two turns", turns, []plan.Op{{Kind: plan.PartOp, Message: 1, Action: plan.Drop}}},
		{"no user", turns[1:2], nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := policy{}.Plan(nil, plan.AppendOutline(nil, &plan.Outline{Rows: c.rows, Switches: []byte("{}")}))
			if err != nil {
				t.Fatal(err)
			}
			got, err := plan.Parse(b)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(c.want) {
				t.Fatalf("got %v, want %v", got, c.want)
			}
			for i := range got {
				if got[i] != c.want[i] {
					t.Errorf("instruction %d: got %v, want %v", i, got[i], c.want[i])
				}
			}
		})
	}
}
