package chatml

// AppendSpaced is appendSpaced, for tests that compare with templates which print JSON that way.
var AppendSpaced = appendSpaced
