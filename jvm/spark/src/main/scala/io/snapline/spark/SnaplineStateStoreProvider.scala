package io.snapline.spark

import io.snapline.spark.provider.SnaplineProvider

/** The state store of Snapline: set `spark.sql.streaming.stateStore.providerClass` to this class. */
class SnaplineStateStoreProvider extends SnaplineProvider
