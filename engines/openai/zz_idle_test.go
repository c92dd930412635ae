package openai_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/weirgate/weir/engines/enginetest"
	"github.com/weirgate/weir/engines/openai"
)

func TestIdle(t *testing.T) {
	if os.Getenv("IDLE_SRV") != "" {
		ln, _ := net.Listen("tcp", "127.0.0.1:0")
		fmt.Println(ln.Addr())
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				r := bufio.NewReader(c)
				http.ReadRequest(r)
				a := vllmAnswer("hello")
				c.Write(a[:len(a)-700])
				time.Sleep(time.Minute)
			}()
		}
	}
	cmd := exec.Command(os.Args[0], "-test.run", "TestIdle")
	cmd.Env = append(os.Environ(), "IDLE_SRV=1")
	out, _ := cmd.StdoutPipe()
	cmd.Start()
	defer cmd.Process.Kill()
	line, _ := bufio.NewReader(out).ReadString('\n')
	e, _ := openai.New(openai.Config{BaseURL: "http://" + line[:len(line)-1] + "/v1", MaxConns: 5000})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&before)
	const n = 1000
	ready := make(chan bool)
	for range n {
		go func() {
			st, err := e.Generate(t.Context(), enginetest.Request())
			if err != nil {
				t.Error(err)
			}
			if d, err := st.Next(); err != nil || string(d.Bytes) != "hello" {
				t.Error(d, err)
			}
			ready <- true
			st.Next()
		}()
		<-ready
	}
	time.Sleep(100 * time.Millisecond)
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&after)
	fmt.Printf("heap %d stack %d KB/1000 goroutines %d\n", (after.HeapAlloc-before.HeapAlloc)/n, (after.StackInuse-before.StackInuse)/n, runtime.NumGoroutine())
}
