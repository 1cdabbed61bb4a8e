package main

import _ "time/tzdata" // images without time zones have named zones too
