"""One module per noun or verb of the command line: parse, call one library function, print."""
