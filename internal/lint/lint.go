// Package lint holds the rules of this repository that a compiler does not check, as tests. It has
// no other code.
package lint
