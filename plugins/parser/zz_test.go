package parser_test
import ("testing";"math/rand/v2";"time";"os";"fmt"; "github.com/weirgate/weir/plugins/parser/parsertest"; "github.com/weirgate/weir/abi/guesttest"; "github.com/weirgate/weir/abi/guest")
func TestZZ(t *testing.T) {
	if os.Getenv("ZZ")=="" {t.Skip()}
	var seed uint64; fmt.Sscan(os.Getenv("ZZ"), &seed)
	r := rand.New(rand.NewPCG(seed, 99))
	fams := parsertest.Families()
	deadline := time.Now().Add(12*time.Second)
	n := 0
	for time.Now().Before(deadline) {
		f := fams[r.IntN(len(fams))]
		g := open(t, f.Config)
		var c guesttest.Case
		if r.IntN(3)==0 {
			c = compose(r.IntN, 1+r.IntN(60))
		} else {
			base := []byte(f.Cases[r.IntN(len(f.Cases))].Input)
			o := []byte(fams[r.IntN(len(fams))].Cases[0].Input)
			for range 1+r.IntN(4) {
				if len(base)<3 {base = append(base, o...); base=append(base,'x','y','z')}
				i, j := r.IntN(len(base)), r.IntN(len(base)); if i>j {i,j=j,i}
				switch r.IntN(4) {
				case 0: base = append(append([]byte{}, base[:i]...), base[j:]...)
				case 1: base = append(append(append([]byte{}, base[:j]...), base[i:j]...), base[j:]...)
				case 2: base = append(append(append([]byte{}, base[:i]...), fragments[r.IntN(len(fragments)-4)]...), base[i:]...)
				case 3: base[i] = "<>/{}\"\n \\x"[r.IntN(10)]
				}
			}
			c = guesttest.Case{Input: string(base), Start: guest.Start{Tools:true}}
			if r.IntN(2)==0 {c.Accept=[]string{"ping","get_stock"}}
		}
		if len(c.Input) > 6000 {continue}
		done := make(chan struct{})
		go func(){ select{case <-done: case <-time.After(8*time.Second): panic(fmt.Sprintf("%s: hang on %q", f.Name, c.Input))}}()
		agree(t, g, c, r.Uint64())
		close(done)
		n++
	}
	t.Log(n)
}
