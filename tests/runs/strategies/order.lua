return { name = "order", target = "dram", summary = "another order",
         prompt = "Go through x in another order.", moves = { "order", "index" } }
