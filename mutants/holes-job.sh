#!/usr/bin/env bash
cd .; . ..sh
date > .-build.log
cargo test --locked -p onyx --test it --no-run >> .-build.log 2>&1 || { date >> .-build.log; exit 1; }
date >> .-build.log
export IT=.$(grep -o 'target/debug/deps/it-[0-9a-f]*' .-build.log | tail -1)
python3 ..py > ..out 2>&1
