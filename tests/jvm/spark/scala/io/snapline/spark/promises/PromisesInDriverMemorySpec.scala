package io.snapline.spark.promises

import io.snapline.promises._
import io.snapline.snapshot.store.TestBackend
import io.snapline.spark.coordinator.InDriverMemory

/** The promises about files, on `MemoryStateBackend`, as long as its driver lives. */
class Promise1InDriverMemorySpec extends Promise1VisibleOnlyWhenDurableOn(TestBackend.HashMap, new InDriverMemory)

class Promise1NestedInDriverMemorySpec
    extends Promise1VisibleOnlyWhenDurableOn(TestBackend.NestedHashMap, new InDriverMemory)

class Promise2InDriverMemorySpec extends Promise2NothingRetainedIsTouchedOn(TestBackend.HashMap, new InDriverMemory)

class Promise2NestedInDriverMemorySpec
    extends Promise2NothingRetainedIsTouchedOn(TestBackend.NestedHashMap, new InDriverMemory)

class Promise4InDriverMemorySpec extends Promise4NoDamagePassesOn(TestBackend.HashMap, new InDriverMemory)

class Promise4NestedInDriverMemorySpec extends Promise4NoDamagePassesOn(TestBackend.NestedHashMap, new InDriverMemory)
