return { name = "passes", target = "sm", summary = "fewer passes",
         prompt = "Write each element once.", moves = { "passes" } }
