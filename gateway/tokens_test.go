package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestTokens asks for tokens and for their text again: of a text, and of what a conversation comes to.
func TestTokens(t *testing.T) {
	t.Parallel()
	w := start(t, options{})
	post := func(path, body string, status int) []byte {
		t.Helper()
		resp, b := w.do(w.request(http.MethodPost, path, body))
		if resp.StatusCode != status {
			t.Fatalf("%s %s: got %s %s, want %d", path, body, resp.Status, b, status)
		}
		return b
	}
	type tokens struct {
		Count   int
		Context int `json:"max_model_len"`
		Tokens  []uint32
		Strings []string `json:"token_strs"`
	}
	ask := func(body string) (got tokens) {
		t.Helper()
		strict(t, post("/v1/tokenize", body, http.StatusOK), &got)
		if got.Count != len(got.Tokens) || got.Context == 0 {
			t.Errorf("%s: got %+v", body, got)
		}
		return got
	}
	const text = "Read a.txt: <|im_start|> é 😀\n"
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	got := ask(`{"model":"sim","prompt":` + string(quoted) + `,"return_token_strs":true}`)
	if joined := strings.ToValidUTF8(strings.Join(got.Strings, ""), ""); len(got.Strings) != got.Count || !strings.HasPrefix(joined, "Read a.txt: <|im_start|>") {
		t.Errorf("got %q", got.Strings)
	}
	ids, err := json.Marshal(got.Tokens)
	if err != nil {
		t.Fatal(err)
	}
	var back struct{ Prompt string }
	strict(t, post("/detokenize", `{"model":"sim","tokens":`+string(ids)+`}`, http.StatusOK), &back)
	if back.Prompt != text {
		t.Errorf("got %q back, gave %q", back.Prompt, text)
	}

	const talk = `"messages":[{"role":"user","content":"hi"}]`
	var count struct {
		Input int `json:"input_tokens"`
	}
	strict(t, post("/v1/messages/count_tokens", `{"model":"sim","thinking":{"type":"enabled","budget_tokens":1024},`+talk+`}`, http.StatusOK), &count)
	if chat := ask(`{"model":"sim",` + talk + `}`); chat.Count != count.Input || chat.Strings != nil {
		t.Errorf("got %d tokens, count_tokens says %d", chat.Count, count.Input)
	}
	if again := ask(`{` + talk + `,"model":"sim"}`); !slices.Equal(again.Tokens, ask(`{"model":"sim",`+talk+`}`).Tokens) {
		t.Error("the same request has other tokens")
	}

	for _, c := range []struct{ path, body, want string }{
		{"/tokenize", `{"model":"double","prompt":"a"}`, `weir does not have the vocabulary of model double`},
		{"/detokenize", `{"model":"double","tokens":[1]}`, `weir does not have the vocabulary of model double`},
		{"/detokenize", `{"model":"sim","tokens":[1,4294967295]}`, `tokens[1]: the model has no token 4294967295`},
		{"/detokenize", fmt.Sprintf(`{"model":"sim","tokens":[%s]}`, strings.Repeat("1,", 4<<20)+"1"), `expected at most`},
	} {
		if b := post(c.path, c.body, http.StatusBadRequest); !strings.Contains(string(b), c.want) {
			t.Errorf("%s: got %s, want %s", c.path, b, c.want)
		}
	}
	post("/tokenize", `{"model":"none","prompt":"a"}`, http.StatusNotFound)
}
